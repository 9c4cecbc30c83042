/** A file that is open for a visitor. All that read one entry share one handle: visitors cost no handles. */
import type { CacheFiles } from './cache-files.ts'
import { ContentUnavailable } from './content-fault.ts'
import type { Entry } from './entries.ts'
import type { Lent } from './hot-files.ts'

const PIECE = 64 * 1024

export type OpenedFile = {
  size: number
  /** All bytes, where they are in memory. Nobody may change them. */
  whole?: Buffer
  /** Fills the buffer from this byte on, as far as the file goes; gives how many bytes, at least 1. Throws ContentUnavailable (`damaged`) where the file ends before. */
  read(into: Buffer, at: number): Promise<number>
  /** Lets the file go; further calls do nothing. Until then it is not evicted. */
  close(): void
}

/**
 * Opens the file of an entry, which counts as used from the call on. Undefined where the file is gone or has another size; `damaged` is
 * called for one that was cut while it was open.
 */
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

/** A file that is in memory. */
export function openLent({ bytes, giveBack }: Lent): OpenedFile {
  return { size: bytes.length, whole: bytes, read: async (into, at) => bytes.copy(into, 0, at), close: giveBack }
}

/** Ends one use of an entry. The last one closes the handle; one that could not be opened is tried again by the next. */
export function letGo(entry: Entry): void {
  entry.uses--
  if (entry.uses > 0) return
  const { handle } = entry
  entry.handle = undefined
  handle?.then((opened) => opened?.close()).catch(() => {})
}

/** All bytes of a file at once. */
export async function readWhole(file: OpenedFile): Promise<Buffer> {
  const whole = Buffer.allocUnsafeSlow(file.size)
  for (let at = 0; at < file.size; ) at += await file.read(whole.subarray(at), at)
  return whole
}

/** All bytes of a file, a piece at a time. */
export async function* piecesOf(file: OpenedFile): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.size; ) {
    const piece = Buffer.allocUnsafe(Math.min(PIECE, file.size - at))
    const read = await file.read(piece, at)
    yield piece.subarray(0, read)
    at += read
  }
}
