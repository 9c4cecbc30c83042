/** How many bytes of log lines may wait to be sent: for a drain, and for all drains of an account. docs/limits.md: Sizes and time. */
import { sql } from 'kysely'
import type { Queries } from '../../platform/db/db.ts'
import { PENDING } from '../../platform/outbox/delivery.ts'

const MIB = 1024 * 1024
export const MAX_DRAIN_BACKLOG = 16 * MIB
const MAX_OF_ACCOUNT = 64 * MIB

/** How many bytes wait, by drain. */
export type Backlog = ReadonlyMap<string, number>

/** Adds up what waits for the drains of an account. It reads at most 10,000 entries of an index, and no lines. */
export async function readBacklog(db: Queries, accountId: string): Promise<Backlog> {
  const rows = await db
    .selectFrom('delivery')
    .select(['endpoint_id', sql<number>`sum(body_bytes)`.as('bytes')])
    .where(PENDING)
    .where('body_bytes', '>', sql.lit(0))
    .where('account_id', '=', accountId)
    .groupBy('endpoint_id')
    .execute()
  return new Map(rows.map(({ endpoint_id, bytes }) => [endpoint_id, Number(bytes)]))
}

/**
 * Gives a function that says whether so many more bytes may wait for a drain, and counts them if they may. A drain has 16 MiB, and never more than
 * it leaves free of the 64 MiB of its account. So drains whose receivers hang leave room for a drain that works.
 */
export function createBacklogBudget(backlog: Backlog): (drainId: string, bytes: number) => boolean {
  const counts = new Map(backlog)
  let all = [...backlog.values()].reduce((sum, bytes) => sum + bytes, 0)
  return (drainId, bytes) => {
    const own = (counts.get(drainId) ?? 0) + bytes
    if (own > Math.min(MAX_DRAIN_BACKLOG, MAX_OF_ACCOUNT - all - bytes)) return false
    counts.set(drainId, own)
    all += bytes
    return true
  }
}
