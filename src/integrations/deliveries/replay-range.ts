/** Resends the deliveries of a time range, for a receiver that was unavailable. docs/webhooks.md: Delivery log. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { SCAN_LIMIT, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { RangeReplayed, ReplayRange } from '../webhooks/schema.ts'
import { MAX_ATTEMPTS, mustBeSendable } from './deliveries.ts'

const MAX_REPLAYED = 100

/**
 * Makes deliveries of one status between `since` and `until` due, oldest first, among the next SCAN_LIMIT. Returns their number, and where to
 * continue. Refuses: bad_request 400 (`until`), not_replayable 409 (endpoint disabled or on hold).
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
  const placed = ctx.db
    .selectFrom('delivery')
    .where('endpoint_id', '=', webhook.id)
    .where('created_stamp', '>', stampAfter(since))
    .where('created_stamp', '<', stampBefore(until))
    .orderBy('created_stamp')
  const rows = await ctx.db
    .selectFrom(placed.selectAll().limit(sql.lit(SCAN_LIMIT)).as('delivery'))
    // Purged events cannot be sent.
    .innerJoin('event', 'event.stamp', 'delivery.event_stamp')
    .select(['delivery.id', 'delivery.created_stamp'])
    .where('delivery.status', '=', status)
    .where('delivery.due_at', 'is', null)
    .where('delivery.attempts', '<', MAX_ATTEMPTS)
    .orderBy('delivery.created_stamp')
    .limit(MAX_REPLAYED + 1)
    .execute()
  const ids = rows.slice(0, MAX_REPLAYED).map(({ id }) => id)
  const lastLooked = placed
    .select('created_stamp')
    .offset(sql.lit(SCAN_LIMIT - 1))
    .limit(sql.lit(1))
  const last = rows.length > MAX_REPLAYED ? rows[MAX_REPLAYED - 1] : await lastLooked.executeTakeFirst()
  return { replayed: await makeDue(ctx, ids, status), next: last?.created_stamp ?? null }
}

async function makeDue(ctx: Ctx, ids: string[], status: Row<'delivery'>['status']): Promise<number> {
  if (ids.length === 0) return 0
  const made = await ctx.db
    .updateTable('delivery')
    .set({ status: 'pending', due_at: ctx.now, done_at: null })
    .where('id', 'in', ids)
    .where('status', '=', status)
    .returning('id')
    .execute()
  ctx.deps.wakeups.deliveries()
  return made.length
}
