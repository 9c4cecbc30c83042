/** Cache of callers and responses until one of their topics changes. Bounded in bytes, with a share per account. docs/architecture.md: Caching. */
import type { ChangedTopics, ChangeFeed, Topic } from '../db/change-feed.ts'

const BYTES = 32 * 1024 * 1024
/** Largest share of one account. */
const SHARE = 1 / 4
/** Overhead of an entry. */
const ENTRY_BYTES = 700

export type CompressedValue = { bytes: number; decompress: () => unknown }
/**
 * `bytes`: size of the value. `owner`: the account whose share it uses. `compress`: compresses a value that is worth it. Such a value is compressed when
 * it would be evicted, and evicted the next time.
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
  /** Returns the current version. Call it before you read what you want to cache. */
  version(): number
  /** Caches a value read since the version, unless one of its topics changed. Returns whether it did. */
  set(key: string, since: number, remembered: CacheItem): boolean
  bytes(): number
}

/** `usedBytes`: its current size in bytes. */
type CacheEntry = CacheItem & {
  key: string
  used: boolean
  usedBytes: number
  compressed?: CompressedValue | undefined
}

/** Creates an empty cache. */
export function createCache(changes: ChangeFeed, limit = BYTES): Cache {
  const { entries, byTopic, bytes, add, remove, read } = createEntries(limit)
  changes.onInvalidate((changed: ChangedTopics) => {
    if (changed === 'all') for (const entry of entries.values()) remove(entry)
    else for (const topic of changed) for (const entry of byTopic.get(topic) ?? []) remove(entry)
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
      const usedBytes = remembered.bytes + ENTRY_BYTES + 2 * key.length
      if (usedBytes > limit * SHARE || !changes.isUnchanged(remembered.topics, since)) return false
      add({ ...remembered, key, usedBytes, used: false })
      return true
    },
  }
}

/** Entries with a common bound: all, or those of an account. `large`: those that can still be compressed. */
type CacheGroup = { bound: number; bytes: number; large: Set<CacheEntry>; small: Set<CacheEntry>; smallBytes: number }

function newGroup(bound: number): CacheGroup {
  return { bound, bytes: 0, large: new Set(), small: new Set(), smallBytes: 0 }
}

function createGroups(limit: number) {
  const all = newGroup(limit)
  const byOwner = new Map<string, CacheGroup>()
  const of = ({ owner }: CacheEntry) => [byOwner.getOrInsertComputed(owner, () => newGroup(limit * SHARE)), all]
  return {
    all,
    of,
    add(entry: CacheEntry) {
      for (const group of of(entry)) {
        group.bytes += entry.usedBytes
        if (isCompressible(entry)) group.large.add(entry)
        else {
          group.small.add(entry)
          group.smallBytes += entry.usedBytes
        }
      }
    },
    remove(entry: CacheEntry) {
      for (const group of of(entry)) {
        group.bytes -= entry.usedBytes
        if (group.small.delete(entry)) group.smallBytes -= entry.usedBytes
        else group.large.delete(entry)
        if (group !== all && group.large.size + group.small.size === 0) byOwner.delete(entry.owner)
      }
    },
  }
}

/** The entries by key, topic and owner, within the limit. */
function createEntries(limit: number) {
  const entries = new Map<string, CacheEntry>()
  const byTopic = new Map<Topic, Set<CacheEntry>>()
  const groups = createGroups(limit)
  const remove = (entry: CacheEntry) => {
    entries.delete(entry.key)
    for (const topic of entry.topics) {
      const among = byTopic.get(topic)
      among?.delete(entry)
      if (among?.size === 0) byTopic.delete(topic)
    }
    groups.remove(entry)
  }
  /** Compresses the least recently used large entry. Evicts a small one where small ones use more than half of the room. */
  const shrink = ({ large, small, smallBytes, bound }: CacheGroup) => {
    const entry = leastRecentlyUsed(smallBytes > bound / 2 ? small : large)
    if (!isCompressible(entry)) return remove(entry)
    groups.remove(entry)
    entry.compressed = entry.compress(entry.value)
    entry.value = undefined
    entry.usedBytes += entry.compressed.bytes - entry.bytes
    groups.add(entry)
  }
  /** Returns the value, restored if there is room for that. */
  const read = (entry: CacheEntry): unknown => {
    const { compressed } = entry
    if (compressed === undefined) return entry.value
    const value = compressed.decompress()
    const more = entry.bytes - compressed.bytes
    if (groups.of(entry).some(({ bytes, bound }) => bytes + more > bound)) return value
    groups.remove(entry)
    entry.compressed = undefined
    entry.value = value
    entry.usedBytes += more
    groups.add(entry)
    return value
  }
  const add = (entry: CacheEntry) => {
    const previous = entries.get(entry.key)
    if (previous !== undefined) remove(previous)
    entries.set(entry.key, entry)
    for (const topic of entry.topics) byTopic.getOrInsertComputed(topic, () => new Set()).add(entry)
    groups.add(entry)
    for (const group of groups.of(entry)) while (group.bytes > group.bound) shrink(group)
  }
  return { entries, byTopic, bytes: () => groups.all.bytes, add, remove, read }
}

function isCompressible(entry: CacheEntry): entry is CacheEntry & Required<Pick<CacheEntry, 'compress'>> {
  return entry.compress !== undefined && entry.compressed === undefined
}

/** Returns the first entry unused since the last check, and moves used ones to the end (second chance). */
function leastRecentlyUsed(all: Set<CacheEntry>): CacheEntry {
  for (const entry of all) {
    if (!entry.used) return entry
    entry.used = false
    all.delete(entry)
    all.add(entry)
  }
  throw new Error('the cache is empty')
}
