/** What one request takes of limits in its transaction, which may run several times. */
import type { LimitName } from '../../limits.ts'
import type { Limiter, LimitStatus } from './limiter.ts'

/** What a request took so far, of all runs of its transaction, by the limit and whose it is. */
export type Taken = Map<string, number>

/** Takes so many more of a limit of `owner`, the account unless said. Undefined where nothing is limited, or an earlier run took it already. */
export type Spend = (name: LimitName, count: number, owner?: string) => Promise<LimitStatus | undefined>

/** Begins one run. A run that takes no more than those before it takes nothing. */
export function openSpending(limits: Limiter, accountId: string, now: number, taken: Taken): Spend {
  const ofThisRun: Taken = new Map()
  return async (name, count, owner = accountId) => {
    const key = `${name} ${owner}`
    const sum = (ofThisRun.get(key) ?? 0) + count
    ofThisRun.set(key, sum)
    const before = taken.get(key) ?? 0
    if (sum <= before) return undefined
    const left = await limits.consume(name, owner, now, sum - before)
    if (!left?.exceeded) taken.set(key, sum)
    return left
  }
}
