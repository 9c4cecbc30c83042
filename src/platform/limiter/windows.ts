/** Windows of one limit by their owners, in memory and bounded. docs/limits.md: Why. */

/** Requests look at the clock when they begin, and are counted in another order. By more than this the clock was set back. */
export const CLOCK_TOLERANCE_MS = 10_000

/** So many owners are known in each group at the least, and twice as many at the most. */
const KNOWN = 10_000

export type Windows<W extends { endsAt: number }> = {
  /** The window of an owner that runs now, which may be a new one. `now`: in ms. */
  current(owner: string, now: number): W
  /** The window that is known, also one that has ended. */
  find(owner: string): W | undefined
  /** Takes a window as it was before a restart. */
  restore(owner: string, window: W): void
}

/** `make` gives a new window that ends then. Windows of which nobody has been heard for longest are forgotten first. */
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
      const known = recent ?? older.get(owner)
      // One that ends later than any could was begun before the clock was set back.
      const runs = known !== undefined && known.endsAt > now && known.endsAt <= now + lengthMs + CLOCK_TOLERANCE_MS
      if (runs && recent !== undefined) return recent
      const window = runs ? known : make(now + lengthMs)
      put(owner, window)
      return window
    },
  }
}
