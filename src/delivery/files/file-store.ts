/** What every place of files holds: `FileStore` of platform/files/file-store.ts. docs/deploying-sites.md: Files. */
import type { Announced, Digest } from '../../platform/files/file-store.ts'

/** Why a file was not taken: its bytes differ from what was announced, or are more than may be. */
export class BadFile extends Error {
  readonly why: 'digest' | 'size' | 'too_large'

  constructor(why: 'digest' | 'size' | 'too_large', message: string) {
    super(message)
    this.why = why
  }
}

/** Throws BadFile where the bytes differ from what was announced. */
export function mustBeAnnounced(digest: Digest, { sha1, size }: Announced): void {
  if (size !== undefined && size !== digest.size)
    throw new BadFile('size', `The file has ${digest.size} bytes, and ${size} were announced.`)
  if (sha1 !== undefined && sha1 !== digest.sha1)
    throw new BadFile('digest', `The file has the SHA-1 ${digest.sha1}, and ${sha1} was announced.`)
}

/** Ends a stream that grows beyond `most` bytes. Throws BadFile. */
export async function* atMost(pieces: AsyncIterable<Buffer>, most: number): AsyncIterable<Buffer> {
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > most) throw new BadFile('too_large', `A file has at most ${most} bytes.`)
    yield piece
  }
}
