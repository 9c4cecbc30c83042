import { setImmediate as nextTurn } from 'node:timers/promises'
import { BadSnapshot } from '../../delivery/protocol/snapshot.ts'
import { READERS } from '../../readers.ts'

const LINE_FEED = 10
/** In bytes. The line reader limits characters, which may need several bytes. */
const LONGEST = READERS['line of the control plane'].bytes

/** Characters of a piece. */
const PIECE = 64 * 1024

/** Joins texts into pieces for a file. */
export function* textPieces(texts: Iterable<string>): Generator<Buffer> {
  let piece = ''
  for (const text of texts) {
    piece += text
    if (piece.length < PIECE) continue
    yield Buffer.from(piece)
    piece = ''
  }
  yield Buffer.from(piece)
}

/** `end`: offset after the line feed. */
export type TextLine = { text: string; end: number }

/** Yields the lines of each piece and lets other tasks run in between. Ignores an incomplete last line. Throws BadSnapshot. */
export async function* textLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine[]> {
  let rest = Buffer.alloc(0)
  let before = 0
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece])
    const lines: TextLine[] = []
    let from = 0
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
      lines.push({ text: bytes.toString('utf8', from, at), end: before + at + 1 })
      from = at + 1
    }
    before += from
    rest = bytes.subarray(from)
    if (rest.length > LONGEST) throw new BadSnapshot(`A line has more than ${LONGEST} bytes.`)
    yield lines
    await nextTurn()
  }
}
