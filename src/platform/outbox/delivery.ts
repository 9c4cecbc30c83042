/** A delivery is one thing to send to one endpoint. Here is how it is written, found while it waits, and dropped. `deliveries/` sends it. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { createYielder } from '../db/chunks.ts'
import { preparedQuery } from '../db/db.ts'

/** The condition for a delivery that waits. It is written as in the index `delivery_waiting`, because no engine uses that index for a bound parameter. */
export const PENDING = sql<boolean>`status = 'pending'`

/** The columns of a delivery that is not sent any more. */
export const DROPPED = { status: 'dropped', due_at: null, held_at: null, body: null } as const

/** What an installation still hears after its end, where its account is emptied: that the projects went. integrations/deliveries/endpoint.ts. */
export const LAST_WORDS = ['project.removed'] as const satisfies readonly EventName[]

const DROPPED_AT_ONCE = 500

/**
 * Drops every delivery of an account that waits for an installation, but for events of the types in `kept`, in steps, so that other requests run in between. It reads what waits for the
 * account, which is at most some 10,000 rows, and not what was sent to the installation before.
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
      // `coalesce` keeps the engines from using the index by installation, which also holds what was sent long ago.
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

/** Writes a delivery. Lines of a log drain are not an event, so they bring their `body`. */
export const insertDelivery = preparedQuery<
  {
    id: string
    accountId: string
    endpointId: string
    installationId: string | null
    eventStamp: number | null
    type: string
    body: string | null
    bodyBytes: number | null
    dueAt: number | null
    heldAt: number | null
    stamp: number
  },
  unknown
>(
  (db, value) =>
    db.insertInto('delivery').values({
      id: value.id,
      account_id: value.accountId,
      endpoint_id: value.endpointId,
      configuration_id: value.installationId,
      event_stamp: value.eventStamp,
      type: value.type,
      body: value.body,
      body_bytes: value.bodyBytes,
      attempts: 0,
      due_at: value.dueAt,
      held_at: value.heldAt,
      status: 'pending',
      created_stamp: value.stamp,
    }),
  { noAnswer: true },
)
