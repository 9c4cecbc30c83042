/** What a sandbox that a picture controls may say of the picture that it made. src/sites/pictures/made.ts; docs/pictures.md: Sandbox. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_HEAD, madeOf } from '../../../src/sites/pictures/made.ts'
import { pngOf, SVG } from './png.ts'

const PNG = pngOf(4, 2)

function output(head: unknown, bytes: Uint8Array | string = PNG): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), Buffer.from(bytes)])
}

test('a picture of the size that its head says is taken, with the type that its bytes show', () => {
  const said = { type: 'text/html', size: PNG.length }
  assert.deepEqual(madeOf(output(said)), { bytes: PNG, type: 'image/png' })
  assert.equal(madeOf(output({ asIs: true }, '')), 'asIs')
})

test('a head has up to 1024 bytes with its end', () => {
  const head = { size: PNG.length, x: '' }
  const more = MAX_HEAD - output(head, '').length
  const padded = (characters: number) => output({ ...head, x: 'x'.repeat(characters) })
  assert.deepEqual(madeOf(padded(more)), { bytes: PNG, type: 'image/png' })
  assert.throws(() => madeOf(padded(more + 1)), { message: "The requested resource isn't a valid image." })
})

test('a picture of too many pixels is refused with their number', () => {
  assert.throws(() => madeOf(output({ refused: 'too many pixels' })), {
    code: 'INVALID_IMAGE_OPTIMIZE_REQUEST',
    message: 'The picture has more than 50 million pixels.',
  })
})

/** TABLE outputs that are not pictures. */
const REFUSED: Readonly<Record<string, Buffer>> = {
  nothing: Buffer.alloc(0),
  'no head': PNG,
  'a head without an end': Buffer.from(JSON.stringify({ asIs: true })),
  'a head that is not JSON': Buffer.concat([Buffer.from('size\n'), PNG]),
  'a head that is not an object': output(7),
  'a head of null': output(null),
  'another refusal': output({ refused: 'damaged', size: 0 }, ''),
  'an asIs that is not true': output({ asIs: 'true' }, ''),
  'another size': output({ size: PNG.length - 1 }),
  'no size': output({}),
  'a script': output({ size: SVG.length }, SVG),
  'a page': output({ size: 6 }, '<html>'),
}

for (const [what, bytes] of Object.entries(REFUSED))
  test(`${what} is not a picture`, () => {
    const refusal = { code: 'INVALID_IMAGE_OPTIMIZE_REQUEST', message: "The requested resource isn't a valid image." }
    assert.throws(() => madeOf(bytes), refusal)
  })
