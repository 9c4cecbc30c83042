/** The one clock. Time is milliseconds since the epoch. */

/** A stamp is a moment with 10 more bits that make it unique: `floor(stamp / STAMPS_PER_MS)` is the millisecond. */
export const STAMPS_PER_MS = 1024

/** A millisecond's first stamp is any of so many: instances that all began at one would meet as often as they write in one millisecond. Few, so that most of a millisecond is left. */
const FIRST_OF_MS = 16

/** Further back than this, the clock was set, and is believed. */
const SET_BACK = 10_000 * STAMPS_PER_MS

export type Clock = {
  now(): number
  /** A new stamp for this moment, greater than every one this process gave before (unless the clock was set back). */
  stamp(): number
  /** Sets the clock to a moment, or back to the machine's. For tests; config decides who may. */
  set(moment: number | undefined): void
}

/**
 * Lists are walked by stamp, so that a page boundary never falls inside a millisecond: docs/spec/decisions.md: Pagination. Two
 * instances can give the same stamp; the unique index then refuses the second, and `write` runs it again with a new one.
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

/** The millisecond of a stamp. */
export function stampToMs(stamp: number): number {
  return Math.floor(stamp / STAMPS_PER_MS)
}
