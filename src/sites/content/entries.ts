/** The cache index in least-recently-used order, with the space in use. docs/deploying-sites.md: File cache. */
import type { FileHandle } from 'node:fs/promises'
import type { CachedFile } from './cache-files.ts'
import { ContentUnavailable } from './content-fault.ts'
import { planEviction, type Space } from './eviction.ts'

/** `bytes`: size on disk. `handle`: shared by all readers; resolves to undefined if the file is missing. */
export type Entry = CachedFile & { bytes: number; uses: number; handle: Promise<FileHandle | undefined> | undefined }

/** Space reserved for a file that is being written. The caller releases it when the write finishes or fails. */
export type Room = { evicted: Entry[]; release(): void }

export type Entries = {
  get(key: string): Entry | undefined
  /** Like `get`, and marks the entry as used. */
  use(key: string): Entry | undefined
  /** Adds a file with this number of uses. It must not exist yet. */
  add(file: CachedFile, uses: number): Entry
  /** Removes an entry. Returns false if it was removed before. */
  remove(entry: Entry): boolean
  /** Throws ContentUnavailable (`too_large`, `full`) if a file of `size` bytes does not fit now. */
  mustFit(size: number, key: string): void
  /** Reserves space for a file of `size` bytes and evicts entries, whose files the caller removes. Throws like `mustFit`. */
  reserve(size: number, key: string): Room
  /** Evicts and returns entries above the budget. */
  trim(): Entry[]
  used(): Space
}

/** A file uses whole blocks, and an empty one still needs a directory entry. */
const BLOCK = 4096

/** Creates an index. */
export function createEntries(budget: Space): Entries {
  /** Least recently used first. */
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
