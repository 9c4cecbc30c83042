/** Consumption of one request, whose transaction may run several times. */
import type { LimitName } from '../../limits.ts'
import { type Limiter, type LimitStatus, rejectIfExceeded } from './limiter.ts'

/** Consumed so far in all runs, by limit and owner. */
export type Taken = Map<string, number>

/** Consumes `count` of a limit of `owner`, by default the account. Undefined without a limit, or if an earlier run consumed it. */
export type Spend = (name: LimitName, count: number, owner?: string) => Promise<LimitStatus | undefined>

/** Begins a run. It consumes only what exceeds earlier runs. */
export function createSpending(limits: Limiter, accountId: string, now: number, consumed: Taken): Spend {
  const ofThisRun: Taken = new Map()
  return async (name, count, owner = accountId) => {
    const key = `${name} ${owner}`
    const sum = (ofThisRun.get(key) ?? 0) + count
    ofThisRun.set(key, sum)
    const before = consumed.get(key) ?? 0
    if (sum <= before) return undefined
    const left = await limits.consume(name, owner, now, sum - before)
    if (!left?.exceeded) consumed.set(key, sum)
    return left
  }
}

/** Counts the audit entry of a write, and the bytes of its events. Call it in the transaction. Refuses: rate_limited 429. */
export async function spendWrite(spend: Spend, eventBytes: number, now: number): Promise<void> {
  rejectIfExceeded(await spend('audit-lines', 1), now, 'writes')
  rejectIfExceeded(await spend('event-bytes', eventBytes), now, 'bytes of events')
}
