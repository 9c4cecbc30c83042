/** Which pages are told next: each at most every 0.8 s, so many of one account and so many of all, and accounts take turns. docs/console.md: Live pages. */
import { createFairQueue } from '../fairness/fair-queue.ts'

/** A page that was told is told again after so long at the earliest: whoever loses a right right after it stops hearing within a second. */
const PAGE_MS = 800
/**
 * Each page that is told is asked for again. That costs some milliseconds, and some requests of the limits of its account (src/limits.ts):
 * its pages take no more than half of the smallest.
 */
const OF_ONE = { atOnce: 20, perSecond: 2 }
/** Each takes some milliseconds of the one event loop, so few are told in one iteration of it. */
const OF_ALL = { atOnce: 3, perSecond: 50 }

export type NotificationQueue<T> = {
  /** Has a page wait for its turn. One that waits already keeps its place. */
  add(page: T): void
  remove(page: T): void
  isEmpty(): boolean
  /** Takes out those whose turn has come. */
  takeDue(nowMs: number): T[]
}

/** No page waits yet. */
export function createNotificationQueue<T extends { owner: string }>(): NotificationQueue<T> {
  const queue = createFairQueue<T>()
  const waiting = new Set<T>()
  const toldAt = new WeakMap<T, number>()
  const ofAll = openBucket(OF_ALL)
  const ofOwner = new Map<string, Bucket>()
  const add = (page: T) => {
    if (waiting.has(page)) return
    waiting.add(page)
    queue.push(page.owner, page)
    if (!ofOwner.has(page.owner)) ofOwner.set(page.owner, openBucket(OF_ONE))
  }
  const take = (nowMs: number) => {
    const page = queue.shift((owner) => ofOwner.get(owner)!.has(nowMs))
    if (page !== undefined) waiting.delete(page)
    return page
  }
  return {
    add,
    remove(page) {
      if (waiting.delete(page)) queue.remove(page.owner, page)
    },
    isEmpty: () => waiting.size === 0,
    takeDue(nowMs) {
      const chosen: T[] = []
      const tooSoon: T[] = []
      while (ofAll.has(nowMs)) {
        const page = take(nowMs)
        if (page === undefined) break
        if ((toldAt.get(page) ?? Number.NEGATIVE_INFINITY) + PAGE_MS > nowMs) {
          tooSoon.push(page)
          continue
        }
        ofAll.take()
        ofOwner.get(page.owner)!.take()
        toldAt.set(page, nowMs)
        chosen.push(page)
      }
      for (const page of tooSoon) add(page)
      for (const [owner, bucket] of ofOwner) {
        if (queue.sizeOf(owner) === 0 && bucket.isFull(nowMs)) ofOwner.delete(owner)
      }
      return chosen
    },
  }
}

type Bucket = { has(nowMs: number): boolean; isFull(nowMs: number): boolean; take(): void }

/** So many at once, and then as many as come in a second. */
function openBucket({ atOnce, perSecond }: { atOnce: number; perSecond: number }): Bucket {
  let left = atOnce
  let filledAt: number | undefined
  const fill = (nowMs: number) => {
    left = Math.min(atOnce, left + ((nowMs - (filledAt ?? nowMs)) * perSecond) / 1000)
    filledAt = nowMs
    return left
  }
  return {
    has: (nowMs) => fill(nowMs) >= 1,
    isFull: (nowMs) => fill(nowMs) === atOnce,
    take() {
      left--
    },
  }
}
