import { collectBytes } from './collected-bytes.ts'

/** Returns a whole body; undefined once it is above this size. */
export async function readAtMost(
  body: AsyncIterable<Uint8Array> | null,
  max: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const collected = collectBytes()
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > max) return undefined
    collected.push(piece)
  }
  return collected.join()
}
