/** Digests of files: SHA-256 is the storage key, SHA-1 the name on the wire. docs/deploying-sites.md: Files. */
import { createHash } from 'node:crypto'
import type { Digest } from '../../platform/files/file-store.ts'

/** Hashes a stream while it passes through. `digest` returns the result after a single pass. */
export function openDigest(pieces: AsyncIterable<Buffer>): { pieces: AsyncIterable<Buffer>; digest(): Digest } {
  const sha256 = createHash('sha256')
  const sha1 = createHash('sha1')
  let size = 0
  async function* passing() {
    for await (const piece of pieces) {
      sha256.update(piece)
      sha1.update(piece)
      size += piece.length
      yield piece
    }
  }
  return { pieces: passing(), digest: () => ({ sha256: sha256.digest('hex'), sha1: sha1.digest('hex'), size }) }
}
