/** The pages that are open, by what they hear of and by account. */
import type { Subject } from '../db/changes.ts'

/** Pages that may be open at once. Beyond it the account that has most gives way with its oldest one. */
const MOST = 4000
const MOST_OF_ONE = 1000

/** What is known of an open page here: its account, and the subjects that it hears of. */
export type Kept = { owner: string; hears: readonly Subject[] }

export type Pages<T> = {
  all: ReadonlySet<T>
  of(subject: Subject): Iterable<T>
  /** Whether any page hears of the subject. */
  has(subject: Subject): boolean
  add(page: T): void
  /** Says whether it was there. */
  remove(page: T): boolean
  /** The page that gives way before another one of this account is opened. */
  inTheWayOf(owner: string): T | undefined
}

export function openPages<T extends Kept>(most = MOST, mostOfOne = MOST_OF_ONE): Pages<T> {
  const all = new Set<T>()
  const bySubject = new Map<Subject, Set<T>>()
  const byOwner = new Map<string, Set<T>>()
  const oldestOf = (owner: string) => byOwner.get(owner)!.values().next().value!
  return {
    all,
    of: (subject) => bySubject.get(subject) ?? [],
    has: (subject) => bySubject.has(subject),
    add(page) {
      all.add(page)
      addTo(byOwner, page.owner, page)
      for (const subject of page.hears) addTo(bySubject, subject, page)
    },
    remove(page) {
      if (!all.delete(page)) return false
      removeFrom(byOwner, page.owner, page)
      for (const subject of page.hears) removeFrom(bySubject, subject, page)
      return true
    },
    inTheWayOf(owner) {
      if ((byOwner.get(owner)?.size ?? 0) >= mostOfOne) return oldestOf(owner)
      if (all.size < most) return undefined
      const [largest] = [...byOwner].reduce((one, other) => (other[1].size > one[1].size ? other : one))
      return oldestOf(largest)
    },
  }
}

function addTo<K, T>(sets: Map<K, Set<T>>, key: K, item: T): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([item]))
  else set.add(item)
}

function removeFrom<K, T>(sets: Map<K, Set<T>>, key: K, item: T): void {
  const set = sets.get(key)
  set?.delete(item)
  if (set?.size === 0) sets.delete(key)
}
