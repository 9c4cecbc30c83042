/** Starts the limiter with the counters of the engine. docs/limits.md: Several instances. */
import type { Config } from '../../config.ts'
import type { OperatorCtx } from '../../context.ts'
import type { Metrics } from '../../metrics.ts'
import { deleteRows } from '../db/bulk.ts'
import { chunks } from '../db/chunks.ts'
import type { Db } from '../db/db.ts'
import { allocate, refundAllocation } from './allocation.ts'
import { type AllocationStore, createDatabaseCounter } from './database-counter.ts'
import { createDurableFailures } from './durable-failures.ts'
import { createLimiter, type Limiter } from './limiter.ts'

export type StartedLimiter = {
  limits: Limiter
  /** Writes counts that must survive a restart. */
  write(): Promise<void>
}

/** Starts the limiter. `now`: ended windows are not read. */
export async function startLimiter(
  { rateLimits }: Pick<Config, 'rateLimits'>,
  { db, metrics }: { db: Db; metrics: Metrics },
  now: number,
): Promise<StartedLimiter> {
  if (db.autocommit !== undefined) {
    const portions = portionsOf(db, db.autocommit, metrics)
    const away = { until: 0 }
    return {
      limits: createLimiter(rateLimits, (limit) => createDatabaseCounter(limit, portions, away)),
      write: async () => {},
    }
  }
  const failures = createDurableFailures()
  const limits = createLimiter(rateLimits, failures.counterOf)
  await failures.read(db.read, now)
  return { limits, write: () => failures.write((work) => db.write(work)) }
}

function portionsOf(db: Db, apart: NonNullable<Db['autocommit']>, metrics: Metrics): AllocationStore {
  const portions = metrics.counter('berth_limit_portions_total')
  return {
    allocate(portion) {
      portions.value++
      return allocate(apart, portion)
    },
    refund: (portion) => refundAllocation(apart, portion),
    isUnavailable: (error) => db.refusalOf(error) !== undefined,
  }
}

/** Sweep: purges ended windows. */
export async function purgeEndedWindows(ctx: OperatorCtx, limit: number): Promise<number> {
  const ended = await ctx.db
    .selectFrom('rate_limit')
    .select(['name', 'owner', 'ends_at'])
    .where('ends_at', '<=', ctx.now)
    .limit(limit)
    .execute()
  // By the end that was read, so that a newer window stays.
  for (const some of chunks(ended)) await deleteRows(ctx.db, 'rate_limit', some)
  return ended.length
}
