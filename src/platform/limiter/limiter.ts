/** Rate limiter for the limits of `limits.ts`: in memory on SQLite, across instances on PostgreSQL. docs/limits.md. */
import { LIMITS, type Limit, type LimitName, type LimitSettings } from '../../limits.ts'
import { pluralize } from '../base/text.ts'
import { Refusal } from '../refusals/refusal.ts'
import type { Counter, EffectiveLimit, RemainingLimit, Sooner } from './counter.ts'
import { createMemoryCounter } from './memory-counter.ts'

/** Result of a call: amount, total and end of the window. */
export type LimitStatus = RemainingLimit & { name: LimitName; total: number; seconds: number }

export type Limiter = {
  /** Returns the limit group of a public operation. */
  groupOf(route: { operationId: string; method: string; reads?: true }): LimitName
  /** Consumes `count` (default 1) or nothing of the limit of `owner`. Undefined without a limit. Synchronous unless the database is needed. */
  consume(name: LimitName, owner: string, now: number, count?: number): Sooner<LimitStatus | undefined>
  /** Refunds consumption that turned out not to count. */
  refund(name: LimitName, owner: string, now: number, count?: number): Sooner<void>
}

/** Creates a limiter. `counterOf` returns the counter of a limit. */
export function createLimiter(
  settings: LimitSettings,
  counterOf: (limit: EffectiveLimit) => Counter = createMemoryCounter,
): Limiter {
  const groups = new Map<string, LimitName>()
  const counters = new Map<LimitName, { limit: EffectiveLimit; counter: Counter }>()
  for (const [name, row] of Object.entries(LIMITS) as [LimitName, Limit][]) {
    for (const operation of row.operations ?? []) groups.set(operation, name)
    const { total, seconds }: Limit = settings === 'off' ? { total: null, seconds: 60 } : (settings[name] ?? row)
    if (total === null) continue
    const limit = { ...row, name, total, seconds }
    counters.set(name, { limit, counter: counterOf(limit) })
  }
  return {
    groupOf: ({ operationId, method, reads }) =>
      groups.get(operationId) ?? (method === 'GET' || reads ? 'read' : 'write'),
    consume(name, owner, now, count = 1) {
      const entry = counters.get(name)
      if (entry === undefined) return undefined
      const { limit, counter } = entry
      const left = counter.consume(owner, now, count)
      return left instanceof Promise ? left.then((after) => countOf(limit, after)) : countOf(limit, left)
    },
    refund: (name, owner, now, count = 1) => counters.get(name)?.counter.refund(owner, now, count),
  }
}

function countOf(
  { name, total, seconds }: EffectiveLimit,
  { remaining, endsAt, exceeded }: RemainingLimit,
): LimitStatus {
  return { name, total, seconds, remaining, endsAt, exceeded }
}

/** Counts a request of an account and returns the rate limit headers. Refuses: rate_limited 429. */
export async function countRequest(
  limits: Limiter,
  route: { operationId: string; method: string },
  accountId: string,
  now: number,
): Promise<Record<string, string> | undefined> {
  const count = await limits.consume(limits.groupOf(route), accountId, now)
  if (count === undefined) return undefined
  rejectIfExceeded(count, now)
  return limitHeaders(count, now)
}

/** Returns the headers of upstream and of the IETF draft. */
function limitHeaders({ name, total, seconds, remaining, endsAt }: LimitStatus, now: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(total),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(endsAt / 1000)),
    ratelimit: `"${name}";r=${remaining};t=${secondsUntil(endsAt, now)}`,
    'ratelimit-policy': `"${name}";q=${total};w=${seconds}`,
  }
}

/** Refuses with rate_limited 429 if the limit was exceeded. `what`: the noun for the message. */
export function rejectIfExceeded(count: LimitStatus | undefined, now: number, what = 'requests'): void {
  if (!count?.exceeded) return
  const { name, total, seconds, endsAt } = count
  const wait = secondsUntil(endsAt, now)
  throw new Refusal(
    'rate_limited',
    `Too many ${what} - try again in ${pluralize(wait, 'second')} (more than ${total} in ${pluralize(seconds, 'second')}).`,
    { name, limit: { total, remaining: 0, reset: Math.ceil(endsAt / 1000), resetMs: endsAt } },
    { ...limitHeaders(count, now), 'retry-after': String(wait) },
  )
}

function secondsUntil(endsAt: number, now: number): number {
  return Math.max(1, Math.ceil((endsAt - now) / 1000))
}
