/** Keeps the cache index and its directory consistent. docs/deploying-sites.md: File cache. */
import { type CachedFile, type CacheFiles, openCacheFiles } from './cache-files.ts'
import { createEntries, type Entry, type Room } from './entries.ts'
import type { Space } from './eviction.ts'
import { createHotFiles, type HotFiles, MAX_HOT } from './hot-files.ts'
import { type OpenedFile, openEntry, openLent, readWhole } from './opened-file.ts'

/** An index entry needs about 400 bytes of memory. */
const MAX_FILES = 250_000

export type KeptFiles = {
  get(key: string): Entry | undefined
  /** Like `get`, and marks the entry as used. */
  use(key: string): Entry | undefined
  /** Opens the file of an entry, from memory if possible. If it is missing or truncated, removes the entry and returns undefined. */
  open(entry: Entry): Promise<OpenedFile | undefined>
  /** Opens the file of an entry on disk, bypassing memory. */
  openOnDisk(entry: Entry): Promise<OpenedFile | undefined>
  drop(entry: Entry): Promise<void>
  /**
   * Writes a file of at most `max` bytes and adds it with one use held (`letGo` of opened-file.ts). Evicts files only when the
   * first piece arrives, so a fetch that fails while the control plane is unavailable evicts nothing. `sizeOf` is called after
   * all pieces. Throws ContentUnavailable (`too_large`, `full`), usually before reading a piece, and errors of the pieces and the
   * disk.
   */
  write(account: string, key: string, max: number, pieces: AsyncIterable<Buffer>, sizeOf: () => number): Promise<Entry>
  used(): Space
}

/** Opens the directory with its files. `memoryBytes` limits small files in memory. Evicts the least recently used files above the budget. */
export async function openKeptFiles(directory: string, budgetBytes: number, memoryBytes: number): Promise<KeptFiles> {
  const files = openCacheFiles(directory)
  const hot = createHotFiles(memoryBytes)
  const entries = createEntries({ bytes: budgetBytes, files: MAX_FILES })
  /** Removals run in order. Writes wait for them, so that a removal cannot delete a file that was added again. */
  let removals = Promise.resolve()
  const removeFiles = (removed: readonly CachedFile[]) => {
    for (const { key } of removed) hot.drop(key)
    const mine = removals.then(async () => {
      for (const file of removed) await files.remove(file)
    })
    removals = mine.catch(() => {})
    return mine
  }
  const drop = async (entry: Entry) => {
    if (entries.remove(entry)) await removeFiles([entry])
  }
  const openOnDisk = (entry: Entry) => openFrom(files, entry, drop)
  for (const file of await files.list()) {
    const before = entries.get(file.key)
    if (before !== undefined) await drop(before)
    entries.add(file, 0)
  }
  await removeFiles(entries.trim())
  return {
    get: entries.get,
    use: entries.use,
    used: entries.used,
    drop,
    openOnDisk,
    open: (entry) => openHot(hot, entry, openOnDisk),
    async write(account, key, max, pieces, sizeOf) {
      entries.mustFit(max, key)
      let room: Room | undefined
      const makeRoom = async () => {
        if (room !== undefined) return
        room = entries.reserve(max, key)
        await removeFiles(room.evicted)
      }
      try {
        await files.write(account, before(pieces, makeRoom), () => ({ key, size: sizeOf() }))
        return entries.add({ key, size: sizeOf() }, 1)
      } finally {
        room?.release()
      }
    },
  }
}

async function openFrom(
  files: CacheFiles,
  entry: Entry,
  drop: (entry: Entry) => Promise<void>,
): Promise<OpenedFile | undefined> {
  // The reader gets the error. The entry is out of the index even if the file cannot be removed.
  const opened = await openEntry(files, entry, () => void drop(entry).catch(() => {}))
  if (opened === undefined) await drop(entry)
  return opened
}

/** Opens a file from memory, and caches a small one. */
async function openHot(
  hot: HotFiles,
  entry: Entry,
  openOnDisk: KeptFiles['openOnDisk'],
): Promise<OpenedFile | undefined> {
  const there = hot.get(entry.key)
  if (there !== undefined) return openLent(there)
  const opened = await openOnDisk(entry)
  if (opened === undefined || entry.size > MAX_HOT) return opened
  const lent = await hot
    .load(entry.key, entry.size, () => readWhole(opened))
    .catch((error) => {
      opened.close()
      throw error
    })
  if (lent === undefined) return opened
  opened.close()
  return openLent(lent)
}

async function* before(pieces: AsyncIterable<Buffer>, work: () => Promise<void>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    await work()
    yield piece
  }
  await work()
}
