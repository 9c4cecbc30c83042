/** Counts what each owner takes of the limits of `limits.ts`: in memory on the embedded store, over all instances on PostgreSQL. docs/limits.md. */
import { LIMITS, type Limit, type LimitName, type LimitSettings } from '../../limits.ts'
import { pluralize } from '../base/text.ts'
import { Refusal } from '../refusals/refusal.ts'
import type { Counter, EffectiveLimit, RemainingLimit, Sooner } from './counter.ts'
import { createMemoryCounter } from './memory-counter.ts'

/** What was asked of the limiter: how many, of how many, until when. */
export type LimitStatus = RemainingLimit & { name: LimitName; total: number; seconds: number }

export type Limiter = {
  /** The group of an operation of the public API. */
  groupOf(route: { operationId: string; method: string }): LimitName
  /** Takes one, or `count` or none, of what `owner` has. Undefined where nothing is limited. Answers without a promise when nobody has to be asked. */
  consume(name: LimitName, owner: string, now: number, count?: number): Sooner<LimitStatus | undefined>
  /** Gives back what was taken for something that does not count after all. */
  refund(name: LimitName, owner: string, now: number, count?: number): Sooner<void>
}

/** Nothing is counted yet. `counterOf`: who counts for a limit. */
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
    groupOf: ({ operationId, method }) => groups.get(operationId) ?? (method === 'GET' ? 'read' : 'write'),
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

/** Counts a request against what its account may ask. Gives the headers that say so; refuses: rate_limited 429. */
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

/** What an answer says of the limit that it counts against: as upstream does, and as the IETF draft does. */
function limitHeaders({ name, total, seconds, remaining, endsAt }: LimitStatus, now: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(total),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(endsAt / 1000)),
    ratelimit: `"${name}";r=${remaining};t=${secondsUntil(endsAt, now)}`,
    'ratelimit-policy': `"${name}";q=${total};w=${seconds}`,
  }
}

/** Refuses with rate_limited 429 when what was taken was not there any more. `what`: of what there was too much. */
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
