/** A stream of bytes as lines of text, for what the control plane sends and for files. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { BadSnapshot } from '../../delivery/protocol/snapshot.ts'
import { READERS } from '../../readers.ts'

const LINE_FEED = 10
/** In bytes; of characters that need several, the reader of the line refuses fewer. */
const LONGEST = READERS['line of the control plane'].bytes

/** `end`: where the line ends in the stream, its line feed included. */
export type TextLine = { text: string; end: number }

/**
 * The lines of each piece, with a turn for visitors behind it. What follows the last line feed is no line and is not given. Throws BadSnapshot
 * where a line is longer than any can be.
 */
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
