import type { Announced, Digest, Pieces } from '../../platform/files/file-store.ts'

/** The bytes differ from what was announced, or exceed the limit. */
export class BadFile extends Error {
  readonly why: 'digest' | 'size' | 'too_large'

  constructor(why: 'digest' | 'size' | 'too_large', message: string) {
    super(message)
    this.why = why
  }
}

/** Throws BadFile if the bytes differ from what was announced. */
export function mustBeAnnounced(digest: Digest, { sha1, size }: Announced): void {
  if (size !== undefined && size !== digest.size)
    throw new BadFile('size', `The file has ${digest.size} bytes, and ${size} were announced.`)
  if (sha1 !== undefined && sha1 !== digest.sha1)
    throw new BadFile('digest', `The file has the SHA-1 ${digest.sha1}, and ${sha1} was announced.`)
}

/** Limits a stream to `most` bytes. Throws BadFile above it. */
export async function* atMost(pieces: Pieces, max: number): AsyncIterable<Buffer> {
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > max) throw new BadFile('too_large', `A file has at most ${max} bytes.`)
    yield piece
  }
}
