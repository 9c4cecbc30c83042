/** The index of the cache and its folder, kept in agreement. docs/deploying-sites.md: Cache of files. */
import { type CachedFile, type CacheFiles, openCacheFiles } from './cache-files.ts'
import { type Entry, openEntries, type Room } from './entries.ts'
import type { Space } from './eviction.ts'
import { type HotFiles, MAX_HOT, openHotFiles } from './hot-files.ts'
import { type OpenedFile, openEntry, openLent, readWhole } from './opened-file.ts'

/** An entry of the index takes some 400 bytes of memory. */
const MAX_FILES = 250_000

export type KeptFiles = {
  get(key: string): Entry | undefined
  /** As `get`, and it was used now. */
  use(key: string): Entry | undefined
  /** Opens the file of an entry, from memory where it is there. Undefined where it is gone or was cut, and the entry is gone then too. */
  open(entry: Entry): Promise<OpenedFile | undefined>
  /** The same, and its bytes are those on the disk. */
  openOnDisk(entry: Entry): Promise<OpenedFile | undefined>
  /** Removes a file and its entry. */
  drop(entry: Entry): Promise<void>
  /**
   * Writes a file of at most `most` bytes whole and enters it, in use for the caller (`letGo` of opened-file.ts). What takes its room is evicted when the first piece comes: a fetch that
   * fails while the control plane is away evicts nothing. `sizeOf` is asked once all pieces are there. Throws ContentUnavailable
   * (`too_large`, `full`), mostly before a piece is read, and what the pieces and the disk throw.
   */
  write(account: string, key: string, most: number, pieces: AsyncIterable<Buffer>, sizeOf: () => number): Promise<Entry>
  used(): Space
}

/** Opens the folder with what is there. `memoryBytes`: what small files may take in memory. Removes what is over the budget, the files that were used longest ago first. */
export async function openKeptFiles(folder: string, budgetBytes: number, memoryBytes: number): Promise<KeptFiles> {
  const files = openCacheFiles(folder)
  const hot = openHotFiles(memoryBytes)
  const entries = openEntries({ bytes: budgetBytes, files: MAX_FILES })
  /** One after another. What is written waits for them, so that none removes a file that has come back. */
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
    async write(account, key, most, pieces, sizeOf) {
      entries.mustFit(most, key)
      let room: Room | undefined
      const makeRoom = async () => {
        if (room !== undefined) return
        room = entries.reserve(most, key)
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
  // Whoever reads it is told; what cannot be removed is out of the index all the same.
  const opened = await openEntry(files, entry, () => void drop(entry).catch(() => {}))
  if (opened === undefined) await drop(entry)
  return opened
}

/** Opens a file from memory, and takes a small one in that was not there. */
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

/** Does something before each piece is handed on, and before the end. */
async function* before(pieces: AsyncIterable<Buffer>, work: () => Promise<void>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    await work()
    yield piece
  }
  await work()
}
