/** Returns a whole body; undefined once it is above this size. */
export async function readAtMost(
  body: AsyncIterable<Uint8Array> | null,
  max: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > max) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
