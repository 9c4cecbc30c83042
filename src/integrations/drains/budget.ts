/** Limits on pending bytes of log lines, per drain and per account. docs/limits.md: Sizes and timeouts. */
import { sql } from 'kysely'
import type { Queries } from '../../platform/db/db.ts'
import { PENDING } from '../../platform/outbox/delivery.ts'

const MIB = 1024 * 1024
export const MAX_DRAIN_BACKLOG = 16 * MIB
const MAX_OF_ACCOUNT = 64 * MIB

/** Pending bytes by drain. */
export type Backlog = ReadonlyMap<string, number>

/** Sums the pending bytes of an account's drains. Reads at most 10,000 index entries and no lines. */
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
 * Returns a function that reserves pending bytes for a drain, if they fit. A drain can hold 16 MiB, and at most what it leaves free of the account's
 * 64 MiB, so hanging receivers leave room for other drains.
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
