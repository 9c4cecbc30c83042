/** A file that is open for a visitor. All readers of an entry share one handle. */
import type { CacheFiles } from './cache-files.ts'
import { ContentUnavailable } from './content-fault.ts'
import type { Entry } from './entries.ts'
import type { Lent } from './hot-files.ts'

const PIECE = 64 * 1024

export type OpenedFile = {
  size: number
  /** All bytes if they are in memory. Read-only. */
  whole?: Buffer
  /** Fills the buffer from this offset and returns the number of bytes, at least 1. Throws ContentUnavailable (`damaged`) if the file ends early. */
  read(into: Buffer, at: number): Promise<number>
  /** Releases the file, which may be evicted afterwards. Further calls do nothing. */
  close(): void
}

/** Opens the file of an entry, in use from the call on. Undefined if missing or of another size. Calls `damaged` if it is truncated later. */
export async function openEntry(
  files: CacheFiles,
  entry: Entry,
  damaged: (entry: Entry) => void,
): Promise<OpenedFile | undefined> {
  entry.uses++
  entry.handle ??= files.open(entry)
  const handle = await entry.handle.catch((error) => {
    letGo(entry)
    throw error
  })
  if (handle === undefined) {
    letGo(entry)
    return undefined
  }
  let isOpen = true
  return {
    size: entry.size,
    async read(into, at) {
      const { bytesRead } = await handle.read(into, 0, into.length, at)
      if (bytesRead > 0) return bytesRead
      damaged(entry)
      throw new ContentUnavailable('damaged', entry.key)
    },
    close() {
      if (isOpen) letGo(entry)
      isOpen = false
    },
  }
}

/** Opens a file that is in memory. */
export function openLent({ bytes, giveBack }: Lent): OpenedFile {
  return { size: bytes.length, whole: bytes, read: async (into, at) => bytes.copy(into, 0, at), close: giveBack }
}

/** Releases one use of an entry. The last one closes the handle. A handle that failed to open is retried by the next reader. */
export function letGo(entry: Entry): void {
  entry.uses--
  if (entry.uses > 0) return
  const { handle } = entry
  entry.handle = undefined
  handle?.then((opened) => opened?.close()).catch(() => {})
}

/** Reads all bytes of a file. */
export async function readWhole(file: OpenedFile): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(file.size)
  for (let at = 0; at < file.size; ) at += await file.read(whole.subarray(at), at)
  return whole
}

/** Yields the bytes of a file in pieces. */
export async function* piecesOf(file: OpenedFile): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.size; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE, file.size - at))
    const read = await file.read(piece, at)
    yield piece.subarray(0, read)
    at += read
  }
}
