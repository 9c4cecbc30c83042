/** Texts that become the lines of a file, and lines that are read piece by piece. src/sites/snapshot/text-lines.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadSnapshot } from '../../../src/delivery/protocol/snapshot.ts'
import { READERS } from '../../../src/readers.ts'
import { type TextLine, textLines, textPieces } from '../../../src/sites/snapshot/text-lines.ts'

const PIECE = 64 * 1024
const LONGEST = READERS['line of the control plane'].bytes

test('texts are written in pieces of 64 Ki characters or more, and the last one is what is left', () => {
  const sizes = (...texts: number[]) =>
    [...textPieces(texts.map((size) => 'x'.repeat(size)))].map(({ length }) => length)
  assert.deepEqual(sizes(), [0])
  assert.deepEqual(sizes(1, 2, 3), [6])
  assert.deepEqual(sizes(PIECE - 1, 1, 5), [PIECE, 5])
  assert.deepEqual(sizes(PIECE, PIECE + 1), [PIECE, PIECE + 1, 0])
  assert.deepEqual(sizes(PIECE - 1, PIECE), [2 * PIECE - 1, 0])
  const text = [...textPieces(['für ', '日本'])].join('')
  assert.equal(text, 'für 日本')
})

async function read(...pieces: (string | Buffer)[]): Promise<TextLine[][]> {
  return Array.fromAsync(textLines(pieces.map((piece) => Buffer.from(piece)).values() as never))
}

test('each piece gives the lines that end in it, with the offsets of their ends', async () => {
  assert.deepEqual(await read('one\ntw', 'o\n\nth', 'ree'), [
    [{ text: 'one', end: 4 }],
    [
      { text: 'two', end: 8 },
      { text: '', end: 9 },
    ],
    [],
  ])
  const [head, tail] = [Buffer.from('日\n').subarray(0, 2), Buffer.from('日\n').subarray(2)]
  assert.deepEqual(await read(head, tail), [[], [{ text: '日', end: 4 }]])
  assert.deepEqual(await read(), [])
})

test('a line that does not end is refused above its limit', async () => {
  const most = Buffer.alloc(LONGEST, 'x')
  assert.deepEqual(await read('a\n', most), [[{ text: 'a', end: 2 }], []])
  await assert.rejects(read(most, 'x'), (error) => {
    return error instanceof BadSnapshot && error.message === `A line has more than ${LONGEST} bytes.`
  })
})

test('other work goes on between two pieces', async () => {
  let turns = 0
  const seen: number[] = []
  setImmediate(() => turns++)
  for await (const _ of textLines(['a\n', 'b\n'].map((text) => Buffer.from(text)).values() as never)) seen.push(turns)
  assert.deepEqual(seen, [0, 1])
})
