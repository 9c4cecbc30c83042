/** Order of notifications: per page at most every 0.8 s, rate-limited per account and in total, with a fair queue of accounts. docs/console.md: Live updates. */
import { createFairQueue } from '../fairness/fair-queue.ts'

/** Interval per page. Short, so that a page with revoked access receives nothing after a second. */
const PAGE_MS = 800
/**
 * A notified page reloads, which uses some milliseconds and rate limits of its account (src/limits.ts). All pages of an account use at most half of
 * the smallest limit.
 */
const OF_ONE = { atOnce: 20, perSecond: 2 }
/** Each takes milliseconds of the event loop, so an iteration notifies few pages. */
const OF_ALL = { atOnce: 3, perSecond: 50 }

export type NotificationQueue<T> = {
  /** Queues a page. A queued page keeps its position. */
  add(page: T): void
  remove(page: T): void
  isEmpty(): boolean
  takeDue(nowMs: number): T[]
}

/** Creates an empty queue. */
export function createNotificationQueue<T extends { owner: string }>(): NotificationQueue<T> {
  const queue = createFairQueue<T>()
  const waiting = new Set<T>()
  const toldAt = new WeakMap<T, number>()
  const ofAll = createBucket(OF_ALL)
  const ofOwner = new Map<string, Bucket>()
  const add = (page: T) => {
    if (waiting.has(page)) return
    waiting.add(page)
    queue.push(page.owner, page)
    if (!ofOwner.has(page.owner)) ofOwner.set(page.owner, createBucket(OF_ONE))
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

function createBucket({ atOnce, perSecond }: { atOnce: number; perSecond: number }): Bucket {
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
