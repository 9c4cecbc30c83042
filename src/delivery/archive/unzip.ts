/** Decompresses an archive on the thread pool in pieces. Unread bytes are not unpacked. */
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ArchiveError } from './fault.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

/** Unpacks one piece at a time, which bounds the reading per iteration of the event loop. */
const PIECE_BYTES = 64 * 1024

/** TABLE decompressor error → message. Other errors are not the archive's. */
const MEANINGS: Readonly<Record<string, string>> = {
  Z_DATA_ERROR: 'The archive is not a gzip file, or is damaged. Pack it with tar and gzip (.tgz), and upload it again.',
  Z_BUF_ERROR: 'The archive ends in the middle. Upload it again.',
  ERR_TRAILING_JUNK_AFTER_STREAM_END: 'The archive has bytes behind its end. Pack and upload it again.',
}

/** Unpacks a single gzip member; trailing bytes are an error. Throws ArchiveError and errors of the source. */
export async function* unzip(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const source = Readable.from(atMost(packed), { objectMode: false })
  const unpacked = createGunzip({ chunkSize: PIECE_BYTES, rejectGarbageAfterEnd: true })
  // The error destroys `unpacked`, and its iteration below throws it.
  pipeline(source, unpacked, () => {})
  try {
    for await (const piece of unpacked) yield piece as Buffer
  } catch (error) {
    const meaning = MEANINGS[(error as NodeJS.ErrnoException).code ?? '']
    throw meaning === undefined ? error : new ArchiveError(meaning)
  } finally {
    unpacked.destroy()
  }
}

async function* atMost(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const max = ARCHIVE_LIMITS.packedBytes
  let bytes = 0
  for await (const piece of packed) {
    bytes += piece.length
    if (bytes > max) throw new ArchiveError(`The archive has more than ${max} compressed bytes. Deploy less.`)
    yield piece
  }
}
