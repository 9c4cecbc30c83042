/** The index of the cache: what is there in the order of its last use, and how much room is taken. docs/deploying-sites.md: Cache of files. */
import type { FileHandle } from 'node:fs/promises'
import type { CachedFile } from './cache-files.ts'
import { ContentUnavailable } from './content-fault.ts'
import { planEviction, type Space } from './eviction.ts'

/** `bytes`: what it takes on the disk. `handle`: opened once for all that read it, undefined in it where the file is gone. */
export type Entry = CachedFile & { bytes: number; uses: number; handle: Promise<FileHandle | undefined> | undefined }

/** Room for a file that is on its way. Whoever has it gives it back when the file is there, or does not come. */
export type Room = { evicted: Entry[]; release(): void }

export type Entries = {
  get(key: string): Entry | undefined
  /** As `get`, and it was used now. */
  use(key: string): Entry | undefined
  /** Enters a file that is open so many times. It must not be there yet. */
  add(file: CachedFile, uses: number): Entry
  /** Takes an entry out. False when it was taken out before. */
  remove(entry: Entry): boolean
  /** Throws ContentUnavailable (`too_large`, `full`) where a file of `size` bytes finds no room now. */
  mustFit(size: number, key: string): void
  /** Makes room for a file of `size` bytes: takes entries out, whose files the caller removes. Throws as `mustFit` does. */
  reserve(size: number, key: string): Room
  /** What would be over the budget: taken out. */
  trim(): Entry[]
  used(): Space
}

/** A file takes whole blocks, and an empty one still has a name. */
const BLOCK = 4096

/** An empty index. */
export function openEntries(budget: Space): Entries {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>()
  const used: Space = { bytes: 0, files: 0 }
  const count = (bytes: number, sign: 1 | -1) => {
    used.bytes += sign * bytes
    used.files += sign
  }
  const remove = (entry: Entry) => {
    if (entries.get(entry.key) !== entry) return false
    entries.delete(entry.key)
    count(entry.bytes, -1)
    return true
  }
  const planFor = (size: number, key: string) => {
    const plan = planEviction(entries.values(), { used, incoming: { bytes: bytesOf(size), files: 1 }, budget })
    if (plan.outcome === 'granted') return plan.evict
    throw new ContentUnavailable(plan.outcome === 'never_fits' ? 'too_large' : 'full', key)
  }
  const takeOut = (evicted: Entry[]) => {
    evicted.forEach(remove)
    return evicted
  }
  return {
    get: (key) => entries.get(key),
    use(key) {
      const entry = entries.get(key)
      if (entry !== undefined && entries.delete(key)) entries.set(key, entry)
      return entry
    },
    add({ key, size }, uses) {
      const entry = { key, size, bytes: bytesOf(size), uses, handle: undefined }
      entries.set(key, entry)
      count(entry.bytes, 1)
      return entry
    },
    remove,
    mustFit: planFor,
    reserve(size, key) {
      const evicted = takeOut(planFor(size, key))
      count(bytesOf(size), 1)
      return { evicted, release: () => count(bytesOf(size), -1) }
    },
    trim() {
      const plan = planEviction(entries.values(), { used, incoming: { bytes: 0, files: 0 }, budget })
      return takeOut(plan.outcome === 'granted' ? plan.evict : [])
    },
    used: () => ({ ...used }),
  }
}

function bytesOf(size: number): number {
  return Math.max(1, Math.ceil(size / BLOCK)) * BLOCK
}
