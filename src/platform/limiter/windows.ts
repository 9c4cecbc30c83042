/** Windows of one limit by owner, in memory and bounded. docs/limits.md: Rationale. */

/** Requests read the clock at their begin and are counted out of order. A larger step is a clock set back. */
export const CLOCK_TOLERANCE_MS = 10_000

/** At least this many owners are cached in each group, and at most twice as many. */
const KNOWN = 10_000

export type Windows<W extends { endsAt: number }> = {
  /** Returns the current or a new window of an owner. `now`: in ms. */
  current(owner: string, now: number): W
  /** Returns the cached window, also an ended one. */
  find(owner: string): W | undefined
  restore(owner: string, window: W): void
}

/** Creates windows with `make`. Evicts the least recently used ones first. */
export function createWindows<W extends { endsAt: number }>(lengthMs: number, make: (endsAt: number) => W): Windows<W> {
  let newer = new Map<string, W>()
  let older = new Map<string, W>()
  const put = (owner: string, window: W) => {
    if (newer.size >= KNOWN && !newer.has(owner)) {
      older = newer
      newer = new Map()
    }
    newer.set(owner, window)
  }
  const find = (owner: string) => newer.get(owner) ?? older.get(owner)
  return {
    find,
    restore: put,
    current(owner, now) {
      const recent = newer.get(owner)
      const existing = recent ?? older.get(owner)
      // A window that ends too late was begun before the clock was set back.
      const runs =
        existing !== undefined && existing.endsAt > now && existing.endsAt <= now + lengthMs + CLOCK_TOLERANCE_MS
      if (runs && recent !== undefined) return recent
      const window = runs ? existing : make(now + lengthMs)
      put(owner, window)
      return window
    },
  }
}
