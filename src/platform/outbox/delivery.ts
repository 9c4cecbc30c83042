/** Rows of deliveries: writing, finding and dropping them. `deliveries/` sends them. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { preparedInsert } from '../db/bulk.ts'
import { createYielder } from '../db/chunks.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'

/** Pending deliveries. Written as in the index `delivery_waiting`, because no engine uses that index for a bound parameter. */
export const PENDING = sql<boolean>`status = 'pending'`

/** The columns of a dropped delivery. */
export const DROPPED = { status: 'dropped', due_at: null, held_at: null, body: null } as const

/** Events that an installation still receives after its deletion, when its account is deleted. integrations/deliveries/endpoint.ts. */
export const LAST_EVENTS = ['project.removed'] as const satisfies readonly EventName[]

const DROPPED_AT_ONCE = 500

/**
 * Drops every pending delivery of an account for an installation, except events in `kept`. Works in steps, so other requests run in between. It reads
 * the pending rows of the account (at most some 10,000), not the sent ones of the installation.
 */
export async function dropPendingOf(
  { db, now }: Pick<OperatorCtx, 'db' | 'now'>,
  accountId: string,
  installationId: string,
  kept: readonly EventName[] = [],
): Promise<void> {
  const pace = createYielder()
  for (;;) {
    const rows = await db
      .selectFrom('delivery')
      .select('id')
      .where(PENDING)
      .where('account_id', '=', accountId)
      // `coalesce` keeps the engines from using the index by installation, which also contains old deliveries.
      .where(sql`coalesce(configuration_id, '')`, '=', installationId)
      .where('type', 'not in', ['', ...kept])
      .limit(sql.lit(DROPPED_AT_ONCE))
      .execute()
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    await db
      .updateTable('delivery')
      .set({ ...DROPPED, done_at: now })
      .where('id', 'in', ids)
      .execute()
    await pace()
  }
}

const insertRow = preparedInsert('delivery')

/** Writes a delivery. Lines of a log drain are not an event, so they bring their `body`. */
export async function insertDelivery(
  db: Queries,
  row: Omit<Row<'delivery'>, 'attempts' | 'status' | 'done_at'>,
): Promise<void> {
  await insertRow(db, { ...row, attempts: 0, status: 'pending', done_at: null })
}
