/** Reads a body of at most `max` bytes. Throws `tooLong` above that. */
export async function readWithin(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  max: number,
  tooLong: () => Error,
): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > max) throw tooLong()
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
