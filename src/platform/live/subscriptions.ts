/** Open pages by topic and account. */
import type { Topic } from '../db/change-feed.ts'

/** Most open pages: of all, of one account, and of one user in all accounts. */
const MOST = { ofAll: 4000, ofAccount: 1000, ofPerson: 100 }

export type Subscriber = { owner: string; userId: string; topics: readonly Topic[] }

export type Subscriptions<T> = {
  all: ReadonlySet<T>
  of(subject: Topic): Iterable<T>
  has(subject: Topic): boolean
  add(page: T): void
  /** Returns whether the page was open. */
  remove(page: T): boolean
  /** Returns the page to close before another one is opened, with a message. Undefined: there is room. */
  evictionFor(subscriber: Pick<Subscriber, 'owner' | 'userId'>): { page: T; why: string } | undefined
}

/** Creates the subscriptions. `most`: limits of open pages. */
export function createSubscriptions<T extends Subscriber>(max = MOST): Subscriptions<T> {
  const all = new Set<T>()
  const bySubject = new Map<Topic, Set<T>>()
  const byOwner = new Map<string, Set<T>>()
  const byPerson = new Map<string, Set<T>>()
  return {
    all,
    of: (subject) => bySubject.get(subject) ?? [],
    has: (subject) => bySubject.has(subject),
    add(page) {
      all.add(page)
      addTo(byOwner, page.owner, page)
      addTo(byPerson, page.userId, page)
      for (const subject of page.topics) addTo(bySubject, subject, page)
    },
    remove(page) {
      if (!all.delete(page)) return false
      removeFrom(byOwner, page.owner, page)
      removeFrom(byPerson, page.userId, page)
      for (const subject of page.topics) removeFrom(bySubject, subject, page)
      return true
    },
    evictionFor({ owner, userId }) {
      const own = byPerson.get(userId)
      if (own !== undefined && own.size >= max.ofPerson) return { page: oldestOf(own), why: FULL.person }
      const ofAccount = byOwner.get(owner)
      if (ofAccount !== undefined && ofAccount.size >= max.ofAccount)
        return { page: oldestOfLargestUser(ofAccount), why: FULL.account }
      if (all.size < max.ofAll) return undefined
      return { page: oldestOfLargestUser(largestOf(byOwner)), why: FULL.all }
    },
  }
}

/** TABLE Messages to a page that is closed for another one */
const FULL = {
  person: `You have ${MOST.ofPerson} pages with live updates open, the maximum. This one is the oldest and no longer updates. Reload it to resume.`,
  account: `The account has ${MOST.ofAccount} pages with live updates open, the maximum. You have the most of them, so your oldest one no longer updates. Reload it to resume.`,
  all: `The service has ${MOST.ofAll} pages with live updates open, the maximum. Your account has the most of them, and you the most in it, so your oldest one no longer updates. Reload it to resume.`,
}

/** Within an account the user with the most pages loses one. */
function oldestOfLargestUser<T extends Subscriber>(pages: Iterable<T>): T {
  return oldestOf(largestOf(Map.groupBy(pages, ({ userId }) => userId)))
}

/** Returns the largest entry; the first of equal ones. */
function largestOf<S extends { size: number } | { length: number }>(sets: Iterable<readonly [string, S]>): S {
  const sizeOf = (subscriber: S) => ('size' in subscriber ? subscriber.size : subscriber.length)
  return [...sets].reduce((a, b) => (sizeOf(b[1]) > sizeOf(a[1]) ? b : a))[1]
}

/** Sets keep the order in which pages were opened. */
function oldestOf<T>(pages: Iterable<T>): T {
  const [oldest] = pages
  return oldest!
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
