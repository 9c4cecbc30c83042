/** Reads the unpacked bytes of an archive in requested sizes. Only the current piece is in memory. */
import { damaged } from './fault.ts'

/** Throws ArchiveError if the bytes end too early. */
export type Blocks = {
  at(): number
  /** Reads this number of bytes into memory; for small sizes. */
  take(size: number): Promise<Buffer>
  /** Yields this number of bytes in pieces. If the caller stops early, the rest stays unread. */
  pieces(size: number): AsyncGenerator<Buffer>
  rest(): AsyncGenerator<Buffer>
  close(): Promise<void>
}

/** Opens a reader for a source. */
export function openBlocks(source: AsyncGenerator<Buffer>): Blocks {
  let piece: Buffer = Buffer.alloc(0)
  let at = 0
  /** Up to `max` bytes; undefined at the end. */
  const some = async (max: number): Promise<Buffer | undefined> => {
    while (piece.length === 0) {
      const { value, done } = await source.next()
      if (done) return undefined
      piece = value
    }
    const part = piece.subarray(0, max)
    piece = piece.subarray(part.length)
    at += part.length
    return part
  }
  async function* pieces(size: number) {
    for (let left = size; left > 0; ) {
      const part = await some(left)
      if (part === undefined) throw damaged('it ends in the middle')
      left -= part.length
      yield part
    }
  }
  return {
    at: () => at,
    pieces,
    async take(size) {
      // Most headers are within one piece.
      if (size <= piece.length) return (await some(size))!
      const chunks: Buffer[] = []
      for await (const part of pieces(size)) chunks.push(part)
      return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
    },
    async *rest() {
      for (let part = await some(Number.POSITIVE_INFINITY); part !== undefined; ) {
        yield part
        part = await some(Number.POSITIVE_INFINITY)
      }
    },
    async close() {
      await source.return(undefined)
    },
  }
}
