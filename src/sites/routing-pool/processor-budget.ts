/** Limits the processor time of an account's patterns. Wall-clock time would punish honest sites on a busy machine. */

export type ProcessorBudget = {
  charge(account: string, micros: number): void
  isSpent(account: string): boolean
}

/** The debt that expires per millisecond: 200 ms of processor time per second. */
const MICROS_A_MS = 200
const MAX_OWED = 200_000
/** The shortest wait. A larger debt must expire completely first. */
const PAUSE_MS = 10_000
/** Above this number of accounts, those without debt are removed, once per second. */
const MAX_ACCOUNTS = 10_000
const SWEEP_MS = 1000

type Use = { since: number; owed: number; pausedUntil: number }

/** Creates a budget. `now` returns milliseconds. */
export function createProcessorBudget(now: () => number): ProcessorBudget {
  const uses = new Map<string, Use>()
  let sweptAt = now()
  return {
    charge(account, micros) {
      const at = now()
      if (uses.size >= MAX_ACCOUNTS && at - sweptAt >= SWEEP_MS) {
        sweptAt = at
        removeIdle(uses, at)
      }
      const before = uses.get(account)
      const owed = (before === undefined ? 0 : owedAt(before, at)) + micros
      const pause = owed > MAX_OWED ? Math.max(PAUSE_MS, owed / MICROS_A_MS) : 0
      uses.set(account, { since: at, owed, pausedUntil: Math.max(before?.pausedUntil ?? 0, at + pause) })
    },
    isSpent: (account) => (uses.get(account)?.pausedUntil ?? 0) > now(),
  }
}

/** If the clock was set back, no debt expires. */
function owedAt({ since, owed }: Use, at: number): number {
  return Math.max(0, owed - Math.max(0, at - since) * MICROS_A_MS)
}

function removeIdle(uses: Map<string, Use>, at: number): void {
  for (const [account, use] of uses) {
    if (owedAt(use, at) === 0 && use.pausedUntil <= at) uses.delete(account)
  }
}
