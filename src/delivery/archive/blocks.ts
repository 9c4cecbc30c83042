/** The unpacked bytes of an archive, given in the sizes that its reader asks for. Nothing but the current piece is held. */
import { damaged } from './fault.ts'

/** Throws ArchiveFault where the bytes end too early. */
export type Blocks = {
  /** How many bytes were given. */
  at(): number
  /** Exactly so many bytes. They are few: they are held. */
  take(size: number): Promise<Buffer>
  /** So many bytes, in the pieces in which they come. Whoever stops early leaves the rest. */
  pieces(size: number): AsyncGenerator<Buffer>
  /** What is left, up to the end. */
  rest(): AsyncGenerator<Buffer>
  /** Ends the source. */
  close(): Promise<void>
}

/** Opens a source of bytes. */
export function openBlocks(source: AsyncGenerator<Buffer>): Blocks {
  let piece: Buffer = Buffer.alloc(0)
  let at = 0
  /** Up to `most` bytes; undefined at the end. */
  const some = async (most: number): Promise<Buffer | undefined> => {
    while (piece.length === 0) {
      const { value, done } = await source.next()
      if (done) return undefined
      piece = value
    }
    const given = piece.subarray(0, most)
    piece = piece.subarray(given.length)
    at += given.length
    return given
  }
  async function* pieces(size: number) {
    for (let left = size; left > 0; ) {
      const given = await some(left)
      if (given === undefined) throw damaged('it ends in the middle')
      left -= given.length
      yield given
    }
  }
  return {
    at: () => at,
    pieces,
    async take(size) {
      // Most headers lie in one piece.
      if (size <= piece.length) return (await some(size))!
      const taken: Buffer[] = []
      for await (const given of pieces(size)) taken.push(given)
      return taken.length === 1 ? taken[0]! : Buffer.concat(taken)
    },
    async *rest() {
      for (let given = await some(Number.POSITIVE_INFINITY); given !== undefined; ) {
        yield given
        given = await some(Number.POSITIVE_INFINITY)
      }
    },
    async close() {
      await source.return(undefined)
    },
  }
}
