/** Which coding a visitor takes (RFC 9110 12.5.3), and what compresses. docs/deploying-sites.md: Static files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptedEncodings, canEncode, MAX_ENCODED } from '../../../src/sites/static/encodings.ts'

/** TABLE the header, and the codings that are taken, the preferred one first. */
const ACCEPTED: readonly (readonly [header: string | undefined, expected: string])[] = [
  [undefined, ''],
  ['', ''],
  ['gzip, deflate, br, zstd', 'br zstd'],
  ['gzip, deflate, br', 'br'],
  ['zstd', 'zstd'],
  ['BR', 'br'],
  ['gzip', ''],
  ['identity', ''],
  ['*', 'br zstd'],
  ['br;q=0.5, zstd;q=0.8', 'zstd br'],
  ['br;q=0.8, zstd', 'zstd br'],
  ['br;q=1.0, zstd;q=0.999', 'br zstd'],
  ['br;q=0', ''],
  ['br;q=0.000, zstd', 'zstd'],
  ['*;q=0', ''],
  ['br, *;q=0', 'br'],
  ['br;q=0, *', 'zstd'],
  // What is liked less than the plain form is not sent.
  ['identity, br;q=0.5', ''],
  ['identity;q=0.5, br;q=0.5', 'br'],
  ['identity;q=0, br;q=0.1', 'br'],
  ['br;q=0.3, *;q=0.5', 'zstd'],
  // A weight that is not valid does not accept.
  ['br;q=', ''],
  ['br;q=2', ''],
  ['br;q=-1', ''],
  ['br;q=0.1234', ''],
  ['br;q=1.5', ''],
  ['br;level=5', ''],
  ['br;q=1;q=0', ''],
  ['br ; q=0.5', 'br'],
  ['br;Q=0.5', 'br'],
  [',,br,,', 'br'],
  ['brotli, x-br', ''],
]

test('a coding is sent to those who take it at least as gladly as the plain form', () => {
  for (const [header, expected] of ACCEPTED) assert.equal(acceptedEncodings(header).join(' '), expected, String(header))
})

test('types that compress are offered encoded, unless they are very small or very large', () => {
  const yes = ['text/html; charset=utf-8', 'TEXT/CSS', 'application/javascript', 'application/json; charset=utf-8']
  const alsoYes = ['image/svg+xml', 'application/manifest+json; charset=utf-8', 'application/wasm', 'font/ttf']
  const no = ['image/png', 'video/mp4', 'font/woff2', 'application/zip', 'application/octet-stream', '', 'x+jsonx']
  for (const type of [...yes, ...alsoYes]) assert.ok(canEncode(type, 5000), type)
  for (const type of no) assert.ok(!canEncode(type, 5000), type)
  const bySize = [1023, 1024, MAX_ENCODED, MAX_ENCODED + 1].map((size) => canEncode('text/html', size))
  assert.deepEqual(bySize, [false, true, true, false])
})
