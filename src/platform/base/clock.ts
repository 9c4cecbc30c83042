/** The clock. Time is milliseconds since the epoch. */
import { setTimeout as sleep } from 'node:timers/promises'

/** A stamp is a time with 10 more bits that make it unique: `floor(stamp / STAMPS_PER_MS)` is the millisecond. */
export const STAMPS_PER_MS = 1024

/** The last time that a `Date` has (ECMA-262, 21.4.1.1). A later one cannot be shown. */
export const LAST_DATE_MS = 8_640_000_000_000_000

/** The first stamp of a millisecond is random within this range, so that instances rarely collide. Small, to leave most of the millisecond. */
const FIRST_OF_MS = 16

/** A larger step back is a clock that was set, and is trusted. */
const SET_BACK = 10_000 * STAMPS_PER_MS

export type Clock = {
  now(): number
  /** Returns a new stamp, greater than all earlier ones of this process (unless the clock was set back). */
  stamp(): number
  /** Sets the clock to a time, or back to the system clock. For tests. */
  set(moment: number | undefined): void
}

/**
 * Lists are sorted by stamp, so that a page boundary never falls inside a millisecond: docs/spec/decisions.md: Pagination. Two instances can return
 * the same stamp; the unique index then rejects the second, and `write` retries with a new one.
 */
export function createClock(): Clock {
  let offset = 0
  let last = 0
  const now = () => Date.now() + offset
  return {
    now,
    stamp() {
      const base = now() * STAMPS_PER_MS
      const begins = base > last || base < last - SET_BACK
      last = begins ? base + Math.floor(Math.random() * FIRST_OF_MS) : last + 1
      return last
    },
    set(moment) {
      offset = moment === undefined ? 0 : moment - Date.now()
    },
  }
}

/** Returns the millisecond of a stamp. */
export function stampToMs(stamp: number): number {
  return Math.floor(stamp / STAMPS_PER_MS)
}

/** Waits this time, or until the signal aborts. Returns whether the time has passed. */
export async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  await sleep(ms, undefined, { signal }).catch(() => {})
  return !signal.aborted
}
