/** Which build caches go when there are too many. docs/runner.md: Build cache. */

export type CacheEntry = { name: string; account: string; bytes: number; usedAt: number }
export type CacheBudget = { bytes: number; accountBytes: number; entries: number }

/** An account has at most this part of all caches. */
const ACCOUNT_SHARE = 4
const MAX_ENTRIES = 10_000

/** Returns the budgets of caches of `bytes` together. Pure. */
export function cacheBudgetOf(bytes: number): CacheBudget {
  return { bytes, accountBytes: Math.floor(bytes / ACCOUNT_SHARE), entries: MAX_ENTRIES }
}

/** Returns the entries to remove, least recently used first, until every account and all together are within budget. Pure. */
export function planEviction(entries: readonly CacheEntry[], budget: CacheBudget): CacheEntry[] {
  const totals = { bytes: 0, entries: 0, ofAccounts: new Map<string, number>() }
  const newestFirst = entries.toSorted((a, b) => b.usedAt - a.usedAt)
  return newestFirst
    .filter(({ account, bytes }) => {
      const ofAccount = (totals.ofAccounts.get(account) ?? 0) + bytes
      if (ofAccount > budget.accountBytes || totals.bytes + bytes > budget.bytes || totals.entries === budget.entries)
        return true
      totals.ofAccounts.set(account, ofAccount)
      totals.bytes += bytes
      totals.entries++
      return false
    })
    .reverse()
}
