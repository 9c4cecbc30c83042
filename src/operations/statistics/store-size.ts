/** Hourly size of the database, one row a day. docs/operations.md: Statistics. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'

const DAY_MS = 86_400_000
/** More than a year, so that a full year is visible. */
const RETENTION_DAYS = 400

/** Sweep: records today's database size and deletes rows older than 400 days. Returns the number of deleted days. */
export async function recordStoreSize(ctx: OperatorCtx, limit: number): Promise<number> {
  const row = { day: dayOf(ctx.now), bytes: await storeBytes(ctx) }
  await ctx.db
    .insertInto('store_size')
    .values(row)
    .onConflict((conflict) => conflict.column('day').doUpdateSet({ bytes: row.bytes }))
    .execute()
  const old = ctx.db
    .selectFrom('store_size')
    .select('day')
    .where('day', '<', dayOf(ctx.now - RETENTION_DAYS * DAY_MS))
    .limit(limit)
  return (await ctx.db.deleteFrom('store_size').where('day', 'in', old).returning('day').execute()).length
}

/** `2026-11-22`, in UTC. */
function dayOf(moment: number): string {
  return new Date(moment).toISOString().slice(0, 10)
}

/** Returns the database size on disk, including free pages. */
export async function storeBytes({ db, deps }: Pick<OperatorCtx, 'db' | 'deps'>): Promise<number> {
  const { rows } = await (deps.db.engine === 'sqlite'
    ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`
    : sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
  ).execute(db)
  return Number(rows[0]!.bytes)
}
