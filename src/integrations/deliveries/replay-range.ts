/** Resends the deliveries of a time range, for a receiver that was unavailable. docs/webhooks.md: Delivery log. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { SCAN_LIMIT, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { RangeReplayed, ReplayRange } from '../webhooks/schema.ts'
import { mustBeSendable } from './deliveries.ts'

const MAX_REPLAYED = 100

/**
 * Makes deliveries of one status between `since` and `until` due, oldest first. Returns their number, and where to continue. Refuses: bad_request 400
 * (`until`), not_replayable 409 (endpoint disabled or on hold).
 */
export async function replayRange(
  ctx: Ctx,
  webhook: Row<'webhook'>,
  { body }: Input<unknown, Static<typeof ReplayRange>>,
): Promise<Static<typeof RangeReplayed>> {
  mustBeSendable(webhook)
  const { since, until = ctx.now + 1, status = 'failed' } = body
  if (stampBefore(until) <= stampAfter(since))
    refuse('bad_request', 'Invalid request: `until` should be after `since`.')
  const looked = ctx.db
    .selectFrom('delivery')
    .selectAll()
    .where('endpoint_id', '=', webhook.id)
    .where('created_stamp', '>', stampAfter(since))
    .where('created_stamp', '<', stampBefore(until))
    .orderBy('created_stamp')
    .limit(sql.lit(SCAN_LIMIT))
  const rows = await ctx.db
    .selectFrom(looked.as('delivery'))
    // Purged events cannot be sent.
    .innerJoin('event', 'event.stamp', 'delivery.event_stamp')
    .select(['delivery.id', 'delivery.created_stamp'])
    .where('delivery.status', '=', status)
    .where('delivery.due_at', 'is', null)
    .orderBy('delivery.created_stamp')
    .limit(MAX_REPLAYED + 1)
    .execute()
  const ids = rows.slice(0, MAX_REPLAYED).map(({ id }) => id)
  if (ids.length === 0) return { replayed: 0, next: null }
  const replayed = await ctx.db
    .updateTable('delivery')
    .set({ status: 'pending', due_at: ctx.now, done_at: null })
    .where('id', 'in', ids)
    .where('status', '=', status)
    .returning('id')
    .execute()
  ctx.deps.wakeups.deliveries()
  const next = rows.length > MAX_REPLAYED ? rows[MAX_REPLAYED - 1]!.created_stamp : null
  return { replayed: replayed.length, next }
}
