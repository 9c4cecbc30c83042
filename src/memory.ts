/**
 * What was read and is given again until a subject of it changes: who acts, and answers. Bounded in bytes, and a quarter of them for one
 * account. docs/architecture.md: What is remembered.
 */
import type { Changed, Changes, Subject } from './db/changes.ts'

const BYTES = 32 * 1024 * 1024
/** Of all bytes, one account has at most this part. */
const SHARE = 1 / 4
/** What an entry takes besides what it holds. */
const ENTRY_BYTES = 700

/** `bytes`: what the value takes. `owner`: the account whose share it takes. */
type Remembered = { value: unknown; bytes: number; owner: string; subjects: readonly Subject[] }

export type Memory = {
  find(key: string): unknown
  /** The stamp of now: take it before what is to be remembered is read. */
  stamp(): number
  /** Remembers what was read since the stamp, unless a subject of it changed meanwhile. Says whether it did. */
  keep(key: string, since: number, remembered: Remembered): boolean
  /** Bytes that are taken now. */
  bytes(): number
}

type Entry = Remembered & { key: string; used: boolean }

/** Nothing is remembered yet. */
export function openMemory(changes: Changes, limit = BYTES): Memory {
  const { entries, bySubject, bytes, add, remove } = openEntries(limit)
  changes.onRaise((changed: Changed) => {
    if (changed === 'all') for (const entry of entries.values()) remove(entry)
    else for (const subject of changed) for (const entry of bySubject.get(subject) ?? []) remove(entry)
  })
  return {
    bytes,
    stamp: changes.stamp,
    find(key) {
      const entry = entries.get(key)
      if (entry !== undefined) entry.used = true
      return entry?.value
    },
    keep(key, since, remembered) {
      const whole = remembered.bytes + ENTRY_BYTES + 2 * key.length
      if (whole > limit * SHARE || !changes.unchanged(remembered.subjects, since)) return false
      add({ ...remembered, key, bytes: whole, used: false })
      return true
    },
  }
}

/** The entries by key, by subject and by owner, within the limit. */
function openEntries(limit: number) {
  const entries = new Map<string, Entry>()
  const bySubject = new Map<Subject, Set<Entry>>()
  const byOwner = new Map<string, { bytes: number; entries: Set<Entry> }>()
  let bytes = 0
  const remove = (entry: Entry) => {
    entries.delete(entry.key)
    for (const subject of entry.subjects) {
      const among = bySubject.get(subject)
      among?.delete(entry)
      if (among?.size === 0) bySubject.delete(subject)
    }
    const owned = byOwner.get(entry.owner)!
    owned.entries.delete(entry)
    owned.bytes -= entry.bytes
    if (owned.entries.size === 0) byOwner.delete(entry.owner)
    bytes -= entry.bytes
  }
  const add = (entry: Entry) => {
    const former = entries.get(entry.key)
    if (former !== undefined) remove(former)
    entries.set(entry.key, entry)
    for (const subject of entry.subjects) {
      const among = bySubject.get(subject)
      if (among === undefined) bySubject.set(subject, new Set([entry]))
      else among.add(entry)
    }
    const owned = byOwner.get(entry.owner) ?? { bytes: 0, entries: new Set() }
    byOwner.set(entry.owner, owned)
    owned.entries.add(entry)
    owned.bytes += entry.bytes
    bytes += entry.bytes
    while (owned.bytes > limit * SHARE) remove(leastUsed(owned.entries))
    while (bytes > limit) remove(leastUsed(entries))
  }
  return { entries, bySubject, bytes: () => bytes, add, remove }
}

/** The first that was not used since it was last looked at. Those that were go to the end. */
function leastUsed(all: Set<Entry> | Map<string, Entry>): Entry {
  for (const entry of all.values()) {
    if (!entry.used) return entry
    entry.used = false
    if (all instanceof Map) {
      all.delete(entry.key)
      all.set(entry.key, entry)
    } else {
      all.delete(entry)
      all.add(entry)
    }
  }
  throw new Error('nothing is remembered')
}
