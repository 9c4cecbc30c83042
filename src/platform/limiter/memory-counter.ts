/** Counts a limit in memory. Exact for a single process, as on SQLite. */

import type { Counter, EffectiveLimit } from './counter.ts'
import { createWindows, type Windows } from './windows.ts'

export type Window = { used: number; endsAt: number }

/** Creates a counter. `onChange` receives owners with a changed window. `windows`: restored ones. */
export function createMemoryCounter(
  { total, seconds }: Pick<EffectiveLimit, 'total' | 'seconds'>,
  onChange?: (owner: string) => void,
  windows: Windows<Window> = windowsOf(seconds),
): Counter {
  return {
    consume(owner, now, count) {
      const window = windows.current(owner, now)
      const exceeded = window.used + count > total
      if (!exceeded) {
        window.used += count
        onChange?.(owner)
      }
      return { remaining: total - window.used, endsAt: window.endsAt, exceeded }
    },
    refund(owner, _, count) {
      const window = windows.find(owner)
      if (window === undefined) return
      window.used = Math.max(0, window.used - count)
      onChange?.(owner)
    },
  }
}

/** Creates empty windows of this length. */
export function windowsOf(seconds: number): Windows<Window> {
  return createWindows(seconds * 1000, (endsAt) => ({ used: 0, endsAt }))
}
