/** How much processor time the patterns of an account may take. Wall-clock time is no measure: a busy machine would punish honest sites. */

export type ProcessorBudget = {
  /** Adds what a decision took. */
  charge(account: string, micros: number): void
  /** Whether the account used its share, and waits. */
  isSpent(account: string): boolean
}

/** What is forgotten of the debt of an account in a millisecond: 200 ms in a second, whenever that second begins. */
const MICROS_A_MS = 200
/** An account that owes more waits. */
const MAX_OWED = 200_000
/** The shortest wait. Who owes more than this forgets waits until all is forgotten. */
const PAUSE_MS = 10_000
/** From so many accounts on, those that owe nothing are removed, once in a second. */
const MAX_ACCOUNTS = 10_000
const SWEEP_MS = 1000

/** `owed`: at the time `since`. */
type Use = { since: number; owed: number; pausedUntil: number }

/** Counts from now on. `now` gives milliseconds. */
export function openProcessorBudget(now: () => number): ProcessorBudget {
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

/** A clock that was set back forgets nothing. */
function owedAt({ since, owed }: Use, at: number): number {
  return Math.max(0, owed - Math.max(0, at - since) * MICROS_A_MS)
}

function removeIdle(uses: Map<string, Use>, at: number): void {
  for (const [account, use] of uses) {
    if (owedAt(use, at) === 0 && use.pausedUntil <= at) uses.delete(account)
  }
}
