/**
 * Cached responses, each with the version of its data. Every request reads the version from the primary database, so no confirmed write is missed on
 * any instance. docs/scaling.md.
 */

const MAX_BYTES = 16 * 1024 * 1024
/** Largest share of one account. */
const SHARE = 1 / 4
const ENTRY_BYTES = 1000

type Entry<T> = { version: string; answer: T; bytes: number }
type OwnerEntries<T> = { bytes: number; entries: Map<string, Entry<T>> }
export type VersionedCache<T> = {
  get(owner: string, key: string, version: string): T | undefined
  set(owner: string, key: string, version: string, answer: T): void
  bytes(): number
}

/** Creates an empty cache. Evicts the oldest responses of an account above its share, and those of the least recently updated account above the limit. */
export function createVersionedCache<T extends { body?: { length: number } | undefined }>(
  limit = MAX_BYTES,
): VersionedCache<T> {
  const owners = new Map<string, OwnerEntries<T>>()
  let bytes = 0
  const remove = (owner: string, key: string) => {
    const owned = owners.get(owner)
    const entry = owned?.entries.get(key)
    if (owned === undefined || entry === undefined) return
    owned.entries.delete(key)
    owned.bytes -= entry.bytes
    bytes -= entry.bytes
    if (owned.entries.size === 0) owners.delete(owner)
  }
  const removeOldest = (owner: string) => remove(owner, owners.get(owner)!.entries.keys().next().value!)
  return {
    bytes: () => bytes,
    get(owner, key, version) {
      const entry = owners.get(owner)?.entries.get(key)
      return entry?.version === version ? entry.answer : undefined
    },
    set(owner, key, version, answer) {
      remove(owner, key)
      const size = ENTRY_BYTES + 2 * key.length + 2 * (answer.body?.length ?? 0)
      if (size > limit * SHARE) return
      const owned = owners.get(owner) ?? { bytes: 0, entries: new Map() }
      owners.delete(owner)
      owners.set(owner, owned)
      owned.entries.set(key, { version, answer, bytes: size })
      owned.bytes += size
      bytes += size
      while (owned.bytes > limit * SHARE) removeOldest(owner)
      while (bytes > limit) removeOldest(owners.keys().next().value!)
    },
  }
}
