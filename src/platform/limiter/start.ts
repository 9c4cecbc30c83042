/** The limiter of a process: who counts follows from the engine. docs/limits.md: Several instances. */
import type { Config } from '../../config.ts'
import type { OperatorCtx } from '../../context.ts'
import type { Metrics } from '../../metrics.ts'
import { deleteRows } from '../db/bulk.ts'
import { chunks } from '../db/chunks.ts'
import type { Db } from '../db/db.ts'
import { countInDatabase, type Portions } from './database-counter.ts'
import { keepFailures } from './durable-failures.ts'
import { type Limiter, openLimiter } from './limiter.ts'
import { givePortionBack, takePortion } from './allocation.ts'

export type OpenLimits = {
  limits: Limiter
  /** Writes what must outlive this process and is in memory alone. */
  write(): Promise<void>
}

/** Opens the limiter. `now`: counts whose window has ended are not read. */
export async function openLimits(
  { rateLimits }: Pick<Config, 'rateLimits'>,
  { db, metrics }: { db: Db; metrics: Metrics },
  now: number,
): Promise<OpenLimits> {
  if (db.apart !== undefined) {
    const portions = portionsOf(db, db.apart, metrics)
    const away = { until: 0 }
    return { limits: openLimiter(rateLimits, (limit) => countInDatabase(limit, portions, away)), write: async () => {} }
  }
  const kept = keepFailures()
  const limits = openLimiter(rateLimits, kept.counterOf)
  await kept.read(db.read, now)
  return { limits, write: () => kept.write((work) => db.write(work)) }
}

function portionsOf(db: Db, apart: NonNullable<Db['apart']>, metrics: Metrics): Portions {
  const asked = metrics.counter('berth_limit_portions_total')
  return {
    take(portion) {
      asked.value++
      return takePortion(apart, portion)
    },
    giveBack: (given) => givePortionBack(apart, given),
    isAway: (error) => db.refusalOf(error) !== undefined,
  }
}

/** Sweep: forgets windows that have ended. */
export async function forgetEndedWindows(ctx: OperatorCtx, limit: number): Promise<number> {
  const ended = await ctx.db
    .selectFrom('rate_limit')
    .select(['name', 'owner', 'ends_at'])
    .where('ends_at', '<=', ctx.now)
    .limit(limit)
    .execute()
  // With the end that was read: a window that began meanwhile stays.
  for (const some of chunks(ended)) await deleteRows(ctx.db, 'rate_limit', some)
  return ended.length
}
