/** Decompresses an archive on the thread pool, piece by piece. Who reads decides how far: what is not read is not unpacked. */
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ArchiveFault } from './fault.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

/** A piece is unpacked at a time: what one iteration of the event loop has to read is bounded by it. */
const PIECE_BYTES = 64 * 1024

/** TABLE what the decompressor finds -> what it means. Other errors are not the archive's. */
const MEANINGS: Readonly<Record<string, string>> = {
  Z_DATA_ERROR: 'The archive is no gzip file, or is damaged. Pack it with tar and gzip (.tgz), and upload it again.',
  Z_BUF_ERROR: 'The archive ends in the middle. Upload it again.',
  ERR_TRAILING_JUNK_AFTER_STREAM_END: 'The archive has bytes behind its end. Pack and upload it again.',
}

/** Unpacks gzip: one member, and nothing behind it. Throws ArchiveFault, and what the source throws. */
export async function* unzip(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const source = Readable.from(atMost(packed), { objectMode: false })
  const unpacked = createGunzip({ chunkSize: PIECE_BYTES, rejectGarbageAfterEnd: true })
  // The error is thrown below: it destroys what is iterated there.
  pipeline(source, unpacked, () => {})
  try {
    for await (const piece of unpacked) yield piece as Buffer
  } catch (error) {
    const meaning = MEANINGS[(error as NodeJS.ErrnoException).code ?? '']
    throw meaning === undefined ? error : new ArchiveFault(meaning)
  } finally {
    unpacked.destroy()
  }
}

async function* atMost(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const most = ARCHIVE_LIMITS.packedBytes
  let bytes = 0
  for await (const piece of packed) {
    bytes += piece.length
    if (bytes > most) throw new ArchiveFault(`The archive has more than ${most} compressed bytes. Deploy less.`)
    yield piece
  }
}
