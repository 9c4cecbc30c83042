/** Ranges as RFC 9110 14 has them. docs/deploying-sites.md: Static files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sliceOf } from '../../../src/sites/static/ranges.ts'

/** TABLE what each header asks of a file of 1000 bytes: `first+length`, or what becomes of it. */
const OF_1000: readonly (readonly [header: string | undefined, expected: string])[] = [
  [undefined, 'full'],
  ['bytes=0-499', '0+500'],
  ['bytes=500-999', '500+500'],
  ['bytes=0-0', '0+1'],
  ['bytes=999-999', '999+1'],
  ['bytes=-1', '999+1'],
  ['bytes=-500', '500+500'],
  ['bytes=-1000', '0+1000'],
  ['bytes=-5000', '0+1000'],
  ['bytes=500-', '500+500'],
  ['bytes=0-', '0+1000'],
  ['bytes=500-5000', '500+500'],
  [`bytes=0-${'9'.repeat(400)}`, '0+1000'],
  ['BYTES=0-1', '0+2'],
  ['bytes= 0-1 ', '0+2'],
  ['bytes=0-1,', '0+2'],
  ['bytes=,0-1', '0+2'],
  ['bytes=00010-0011', '10+2'],
  // Behind the end.
  ['bytes=1000-', 'unsatisfiable'],
  ['bytes=1000-2000', 'unsatisfiable'],
  [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  // Several parts are answered whole.
  ['bytes=0-0,-1', 'full'],
  ['bytes=0-1,5-6', 'full'],
  [`bytes=${'0-,'.repeat(5000)}`, 'full'],
  // Malformed, or another unit.
  ['bytes=2-1', 'full'],
  ['bytes=-', 'full'],
  ['bytes=', 'full'],
  ['bytes', 'full'],
  ['bytes=a-b', 'full'],
  ['bytes=1-b', 'full'],
  ['bytes=+1-2', 'full'],
  ['bytes=1.5-2', 'full'],
  ['bytes=0x1-2', 'full'],
  ['bytes=--5', 'full'],
  ['bytes=1 - 2', 'full'],
  ['bytes =0-1', 'full'],
  ['items=0-1', 'full'],
  ['megabytes=0-1', 'full'],
  ['0-1', 'full'],
  ['', 'full'],
]

function show(header: string | undefined, size: number): string {
  const slice = sliceOf(header, size)
  return typeof slice === 'string' ? slice : `${slice.first}+${slice.length}`
}

test('a range is answered as its header says, and ignored where it says nothing that is understood', () => {
  for (const [header, expected] of OF_1000) assert.equal(show(header, 1000), expected, String(header))
})

test('an empty file has no part', () => {
  const of = (header: string) => show(header, 0)
  assert.deepEqual(
    [of('bytes=0-'), of('bytes=0-0'), of('bytes=-0'), of('bytes=-5')],
    ['unsatisfiable', 'unsatisfiable', 'unsatisfiable', 'full'],
  )
})

test('no header leads out of the file', () => {
  const texts = fc.oneof(
    fc.string().map((text) => `bytes=${text}`),
    fc.tuple(fc.nat(), fc.nat()).map(([first, last]) => `bytes=${first}-${last}`),
    fc.stringMatching(/^bytes=[-0-9, ]{0,12}$/),
  )
  fc.assert(
    fc.property(texts, fc.nat(2000), (header, size) => {
      const slice = sliceOf(header, size)
      if (typeof slice === 'string') return
      assert.ok(slice.first >= 0 && slice.length >= 1 && slice.first + slice.length <= size, header)
    }),
  )
})
