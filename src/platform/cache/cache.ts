/**
 * What was read and is given again until a subject of it changes: who acts, and answers. Bounded in bytes, and a quarter of them for one
 * account. docs/architecture.md: What is remembered.
 */
import type { ChangedTopics, ChangeFeed, Topic } from '../db/change-feed.ts'

const BYTES = 32 * 1024 * 1024
/** Of all bytes, one account has at most this part. */
const SHARE = 1 / 4
/** What an entry takes besides what it holds. */
const ENTRY_BYTES = 700

/** A value in fewer bytes, and how to have it back. */
export type CompressedValue = { bytes: number; unpack: () => unknown }
/**
 * `bytes`: what the value takes. `owner`: the account whose share it takes. `pack`: for a value that is worth it; it is packed when it would have to
 * go for want of room, and goes the next time.
 */
type CacheItem = {
  value: unknown
  bytes: number
  owner: string
  topics: readonly Topic[]
  compress?: (value: unknown) => CompressedValue
}

export type Cache = {
  get(key: string): unknown
  /** The stamp of now: take it before what is to be remembered is read. */
  version(): number
  /** Remembers what was read since the stamp, unless a subject of it changed meanwhile. Says whether it did. */
  set(key: string, since: number, remembered: CacheItem): boolean
  /** Bytes that are taken now. */
  bytes(): number
}

/** `taken`: bytes that it takes as it is now. */
type CacheEntry = CacheItem & { key: string; used: boolean; taken: number; packed?: CompressedValue | undefined }

/** Nothing is remembered yet. */
export function createCache(changes: ChangeFeed, limit = BYTES): Cache {
  const { entries, bySubject, bytes, add, remove, read } = createEntries(limit)
  changes.onInvalidate((changed: ChangedTopics) => {
    if (changed === 'all') for (const entry of entries.values()) remove(entry)
    else for (const subject of changed) for (const entry of bySubject.get(subject) ?? []) remove(entry)
  })
  return {
    bytes,
    version: changes.version,
    get(key) {
      const entry = entries.get(key)
      if (entry === undefined) return undefined
      entry.used = true
      return read(entry)
    },
    set(key, since, remembered) {
      const taken = remembered.bytes + ENTRY_BYTES + 2 * key.length
      if (taken > limit * SHARE || !changes.isUnchanged(remembered.topics, since)) return false
      add({ ...remembered, key, taken, used: false })
      return true
    },
  }
}

/** Entries that share a bound: all of them, and those of an account. `large`: those that can be packed and are not. */
type CacheGroup = { bound: number; bytes: number; large: Set<CacheEntry>; small: Set<CacheEntry>; smallBytes: number }

function newGroup(bound: number): CacheGroup {
  return { bound, bytes: 0, large: new Set(), small: new Set(), smallBytes: 0 }
}

/** In which groups an entry is. */
function createGroups(limit: number) {
  const all = newGroup(limit)
  const byOwner = new Map<string, CacheGroup>()
  const of = ({ owner }: CacheEntry) => [byOwner.getOrInsertComputed(owner, () => newGroup(limit * SHARE)), all]
  return {
    all,
    of,
    add(entry: CacheEntry) {
      for (const group of of(entry)) {
        group.bytes += entry.taken
        if (isCompressible(entry)) group.large.add(entry)
        else {
          group.small.add(entry)
          group.smallBytes += entry.taken
        }
      }
    },
    remove(entry: CacheEntry) {
      for (const group of of(entry)) {
        group.bytes -= entry.taken
        if (group.small.delete(entry)) group.smallBytes -= entry.taken
        else group.large.delete(entry)
        if (group !== all && group.large.size + group.small.size === 0) byOwner.delete(entry.owner)
      }
    },
  }
}

/** The entries by key, by subject and by owner, within the limit. */
function createEntries(limit: number) {
  const entries = new Map<string, CacheEntry>()
  const bySubject = new Map<Topic, Set<CacheEntry>>()
  const groups = createGroups(limit)
  const remove = (entry: CacheEntry) => {
    entries.delete(entry.key)
    for (const subject of entry.topics) {
      const among = bySubject.get(subject)
      among?.delete(entry)
      if (among?.size === 0) bySubject.delete(subject)
    }
    groups.remove(entry)
  }
  /** Packs the large entry that was not used for longest. Where the small ones have more than half of the room, one of them goes. */
  const shrink = ({ large, small, smallBytes, bound }: CacheGroup) => {
    const entry = leastRecentlyUsed(smallBytes > bound / 2 ? small : large)
    if (!isCompressible(entry)) return remove(entry)
    groups.remove(entry)
    entry.packed = entry.compress(entry.value)
    entry.value = undefined
    entry.taken += entry.packed.bytes - entry.bytes
    groups.add(entry)
  }
  /** What the entry holds. It is whole again where there is room for that. */
  const read = (entry: CacheEntry): unknown => {
    const { packed } = entry
    if (packed === undefined) return entry.value
    const value = packed.unpack()
    const more = entry.bytes - packed.bytes
    if (groups.of(entry).some(({ bytes, bound }) => bytes + more > bound)) return value
    groups.remove(entry)
    entry.packed = undefined
    entry.value = value
    entry.taken += more
    groups.add(entry)
    return value
  }
  const add = (entry: CacheEntry) => {
    const previous = entries.get(entry.key)
    if (previous !== undefined) remove(previous)
    entries.set(entry.key, entry)
    for (const subject of entry.topics) bySubject.getOrInsertComputed(subject, () => new Set()).add(entry)
    groups.add(entry)
    for (const group of groups.of(entry)) while (group.bytes > group.bound) shrink(group)
  }
  return { entries, bySubject, bytes: () => groups.all.bytes, add, remove, read }
}

function isCompressible(entry: CacheEntry): entry is CacheEntry & Required<Pick<CacheEntry, 'compress'>> {
  return entry.compress !== undefined && entry.packed === undefined
}

/** The first that was not used since it was last looked at. Those that were go to the end. */
function leastRecentlyUsed(all: Set<CacheEntry>): CacheEntry {
  for (const entry of all) {
    if (!entry.used) return entry
    entry.used = false
    all.delete(entry)
    all.add(entry)
  }
  throw new Error('nothing is remembered')
}
