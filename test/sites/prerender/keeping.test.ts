/** Which answers are kept, and for how long. docs/prerendering.md: Cacheable responses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Prerender } from '../../../src/delivery/protocol/routing-manifest.ts'
import { keepingOf, keptHeaders, tagsOf } from '../../../src/sites/prerender/keeping.ts'

const PRERENDER: Prerender = {
  ...{ expiration: 60, initialHeaders: [], passQuery: false, concrete: true, exposeErrBody: false },
  partialFallback: false,
}
const answer = (status: number, headers: Record<string, string | string[]>) => ({ status, headers, body: Buffer.of() })
const keep = (fresh: number | undefined, stale: number | undefined) => ({
  kind: 'keep',
  lifetime: {
    freshMs: fresh === undefined ? undefined : fresh * 1000,
    staleMs: stale === undefined ? undefined : stale * 1000,
  },
})

/** TABLE status and headers → what becomes of the answer. */
const ANSWERS: readonly [status: number, headers: Record<string, string | string[]>, expected: object][] = [
  [200, {}, keep(60, undefined)],
  [404, {}, keep(60, undefined)],
  [307, { location: '/x' }, keep(60, undefined)],
  [200, { 'cache-control': 's-maxage=2, stale-while-revalidate=8' }, keep(2, 10)],
  [200, { 'cache-control': 's-maxage=0' }, keep(0, undefined)],
  [200, { 'cache-control': 'max-age=5' }, keep(60, undefined)],
  [200, { 'cdn-cache-control': 'max-age=7', 'cache-control': 's-maxage=1' }, keep(7, undefined)],
  [200, { 'cache-control': `s-maxage=${'9'.repeat(10)}` }, keep(31_536_000, undefined)],
  [200, { 'cache-control': 's-maxage=-1' }, keep(60, undefined)],
  [200, { 'cache-control': 'private, s-maxage=9' }, { kind: 'personal' }],
  [200, { 'cache-control': 'Private="set-cookie"' }, { kind: 'personal' }],
  [200, { 'cache-control': 'private', 'cdn-cache-control': 'max-age=9' }, { kind: 'personal' }],
  [200, { 'cache-control': 'no-cache, No-Store' }, { kind: 'personal' }],
  [200, { 'set-cookie': ['a=b'] }, { kind: 'personal' }],
  [500, {}, { kind: 'pass' }],
  [503, { 'cache-control': 's-maxage=60' }, { kind: 'pass' }],
  [401, {}, { kind: 'pass' }],
  [206, {}, { kind: 'pass' }],
  [200, { 'x-large': 'x'.repeat(20_000) }, { kind: 'pass' }],
]

for (const [status, headers, expected] of ANSWERS)
  test(`an answer ${status} ${JSON.stringify(headers).slice(0, 70)}`, () => {
    assert.deepEqual(keepingOf(answer(status, headers), PRERENDER), expected)
  })

test('without an end of its own, a page has that of the output', () => {
  assert.deepEqual(keepingOf(answer(200, {}), { ...PRERENDER, expiration: false }), keep(undefined, undefined))
  assert.deepEqual(keepingOf(answer(200, {}), { ...PRERENDER, staleExpiration: 90 }), keep(60, 90))
  assert.deepEqual(keepingOf(answer(200, {}), { ...PRERENDER, staleExpiration: 1 }), keep(60, 60))
})

test('visitors do not see tags, caching of the platform, or a header for the next hop', () => {
  const headers = {
    ...{ 'x-next-cache-tags': 'a, b,,a', 'cache-control': 's-maxage=1', 'content-type': 'text/html', 'x-own': '1' },
    ...{ connection: 'x-hop', 'x-hop': '1', age: '5', 'x-vercel-cache': 'HIT', 'transfer-encoding': 'chunked' },
  }
  assert.deepEqual(tagsOf(headers), ['a', 'b'])
  assert.deepEqual(keptHeaders(headers), [
    { name: 'content-type', value: 'text/html' },
    { name: 'x-own', value: '1' },
    { name: 'cache-control', value: 'public, max-age=0, must-revalidate' },
  ])
})
