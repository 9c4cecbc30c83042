/** Statements with which instances share a limit. Each commits on its own, so that it decides among concurrent instances. */
import { type RawBuilder, sql } from 'kysely'
import { preparedQuery, type Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { CLOCK_TOLERANCE_MS } from './windows.ts'

/**
 * Requests at least `need` or nothing, at most `want`, of `total` in a window of `lengthMs`, which begins now if none runs. `unreported`: consumed
 * before the window was shared. `isDurable`: survives a crash of the database server. Otherwise a crash may lose the last second, and the statement
 * does not wait for the disk.
 */
export type AllocationRequest = {
  name: string
  owner: string
  now: number
  lengthMs: number
  total: number
  unreported: number
  need: number
  want: number
  isDurable: boolean
}
type Window = Pick<Row<'rate_limit'>, 'ends_at' | 'used' | 'granted'>

/** Acquires an allocation and returns the resulting window. */
export async function allocate(apart: Queries, { isDurable, ...portion }: AllocationRequest): Promise<Window> {
  const [window] = await insertOrTake(apart, { ...portion, durable: isDurable ? 1 : 0 })
  return window!
}

type Values = Omit<AllocationRequest, 'isDurable'> & { durable: number }

const insertOrTake = preparedQuery<Values, Window>((db, value) => {
  const number = (named: number) => sql<number>`cast(${named} as bigint)`
  const [now, total, unreported] = [number(value.now), number(value.total), number(value.unreported)]
  const endsAt = sql<number>`${now} + ${number(value.lengthMs)}`
  // A window that ends too late was begun before the clock was set back.
  const runs = sql`rate_limit.ends_at > ${now} and rate_limit.ends_at <= ${endsAt} + ${sql.lit(CLOCK_TOLERANCE_MS)}`
  const usedBefore = sql<number>`case when ${runs} then rate_limit.used else 0 end + ${unreported}`
  const grantedAfter = (used: RawBuilder<number>) =>
    sql<number>`case when ${total} - (${used}) >= ${number(value.need)} then least(${number(value.want)}, ${total} - (${used})) else 0 end`
  const granted = grantedAfter(usedBefore)
  const grantedFirst = grantedAfter(unreported)
  return db
    .insertInto('rate_limit')
    .values({
      name: value.name,
      owner: value.owner,
      ends_at: endsAt,
      used: sql`${unreported} + ${grantedFirst}`,
      granted: grantedFirst,
    })
    .onConflict((conflict) =>
      conflict.columns(['name', 'owner']).doUpdateSet({
        ends_at: sql`case when ${runs} then rate_limit.ends_at else excluded.ends_at end`,
        used: sql`${usedBefore} + ${granted}`,
        granted,
      }),
    )
    .returning(['rate_limit.ends_at', 'rate_limit.used', 'rate_limit.granted'])
    .returning(
      sql`set_config('synchronous_commit', case when ${number(value.durable)} = 1 then current_setting('synchronous_commit') else 'off' end, true)`.as(
        'commit',
      ),
    )
})

type Return = { name: string; owner: string; now: number; count: number }

/** Refunds what was consumed in the current window. */
export async function refundAllocation(apart: Queries, portion: Return): Promise<void> {
  await lowerUsed(apart, portion)
}

const lowerUsed = preparedQuery<Return, unknown>((db, value) =>
  db
    .updateTable('rate_limit')
    .set({ used: sql`greatest(0, used - cast(${value.count} as bigint))` })
    .where('name', '=', value.name)
    .where('owner', '=', value.owner)
    .where('ends_at', '>', value.now),
)
