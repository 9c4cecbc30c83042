/** Which build is next. docs/building.md: Queue. */

/** What an account or an owner has running, and when its last build started (ms; 0: none did). */
type Load = { running: number; lastStartedAt: number }

/** The first waiting build of an account. */
export type Head = {
  deploymentId: string
  accountId: string
  isProduction: boolean
  queuedAt: number
  account: Load
  owner: Load
}

/**
 * Returns the heads of accounts below their limit, the next one first: owners with the fewest running builds, then those that wait
 * longest for their turn; within an owner the same by account. Pure.
 */
export function orderHeads(heads: readonly Head[], { perAccount }: { perAccount: number }): Head[] {
  return heads
    .filter(({ account }) => account.running < perAccount)
    .sort((a, b) => byTurn(a.owner, b.owner) || byTurn(a.account, b.account) || orderWithin(a, b))
}

function byTurn(a: Load, b: Load): number {
  return a.running - b.running || a.lastStartedAt - b.lastStartedAt
}

/** Production comes first, then the oldest. */
function orderWithin(a: Head, b: Head): number {
  const production = Number(b.isProduction) - Number(a.isProduction)
  return production || a.queuedAt - b.queuedAt || (a.deploymentId < b.deploymentId ? -1 : 1)
}
