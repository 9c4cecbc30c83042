/** The pages that are open, by what they hear of and by account. */
import type { Topic } from '../db/change-feed.ts'

/** Pages that may be open at once: of all, of one account, and of one person in all accounts. */
const MOST = { ofAll: 4000, ofAccount: 1000, ofPerson: 100 }

/** What is known of an open page here: its account, its person, and the subjects that it hears of. */
export type Subscriber = { owner: string; userId: string; topics: readonly Topic[] }

export type Subscriptions<T> = {
  all: ReadonlySet<T>
  of(subject: Topic): Iterable<T>
  /** Whether any page hears of the subject. */
  has(subject: Topic): boolean
  add(page: T): void
  /** Says whether it was there. */
  remove(page: T): boolean
  /** The page that gives way before another one is opened, and the sentence that says why. Undefined: there is room. */
  inTheWayOf(asked: Pick<Subscriber, 'owner' | 'userId'>): { page: T; why: string } | undefined
}

/** Keeps open pages. `most`: how many may be open at once. */
export function createSubscriptions<T extends Subscriber>(most = MOST): Subscriptions<T> {
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
    inTheWayOf({ owner, userId }) {
      const own = byPerson.get(userId)
      if (own !== undefined && own.size >= most.ofPerson) return { page: oldestOf(own), why: FULL.person }
      const ofAccount = byOwner.get(owner)
      if (ofAccount !== undefined && ofAccount.size >= most.ofAccount)
        return { page: oldestOfLargestUser(ofAccount), why: FULL.account }
      if (all.size < most.ofAll) return undefined
      return { page: oldestOfLargestUser(largestOf(byOwner)), why: FULL.all }
    },
  }
}

/** TABLE what the page that gives way is told. */
const FULL = {
  person: `You have ${MOST.ofPerson} pages open that follow changes, which is the most. This one is the oldest, and follows no more. Open it again to follow.`,
  account: `The account has ${MOST.ofAccount} pages open that follow changes, which is the most. You have most of them, so your oldest one follows no more. Open it again to follow.`,
  all: `The service has ${MOST.ofAll} pages open that follow changes, which is the most. Your account has most of them, and you have most of those, so your oldest one follows no more. Open it again to follow.`,
}

/** Within an account nobody loses a page to somebody who has more of them. */
function oldestOfLargestUser<T extends Subscriber>(pages: Iterable<T>): T {
  return oldestOf(largestOf(Map.groupBy(pages, ({ userId }) => userId)))
}

/** The one that has most of them. Of several, the one that is named first. */
function largestOf<S extends { size: number } | { length: number }>(sets: Iterable<readonly [string, S]>): S {
  const sizeOf = (one: S) => ('size' in one ? one.size : one.length)
  return [...sets].reduce((one, other) => (sizeOf(other[1]) > sizeOf(one[1]) ? other : one))[1]
}

/** They stand in the order in which they were opened. */
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
