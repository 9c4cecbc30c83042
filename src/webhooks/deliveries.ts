/** The log of deliveries, as the operator reads it: what was sent where, every attempt, and once more on request. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import { STAMPS_PER_MS } from '../clock.ts'
import type { OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { DEFAULT_LIMIT, LOOKED_THROUGH, pageLookedFor, stampBefore } from '../http/page.ts'
import type { Input, Params } from '../http/route.ts'
import { refuse } from '../refusal.ts'
import { LEASE_MS } from './queue.ts'
import { type Delivery, type DeliveryList, type ListDeliveriesQuery, showDelivery } from './shape.ts'

const KEPT_MS = 30 * 86_400_000

/**
 * Lists deliveries with their attempts, newest first. No index finds a status: a page has what is among the next LOOKED_THROUGH
 * deliveries, and `next` leads on. docs/decisions/0124.
 */
export async function listDeliveries(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof ListDeliveriesQuery>>,
): Promise<Static<typeof DeliveryList>> {
  const { limit = DEFAULT_LIMIT, until, endpointId, status } = query
  let placed = ctx.db.selectFrom('delivery').orderBy('created_stamp', 'desc')
  if (until !== undefined) placed = placed.where('created_stamp', '<', stampBefore(until))
  if (endpointId !== undefined) placed = placed.where('endpoint_id', '=', endpointId)
  let wanted = ctx.db
    .selectFrom(placed.selectAll().limit(sql.lit(LOOKED_THROUGH)).as('delivery'))
    .leftJoin('event', 'event.stamp', 'delivery.event_stamp')
    .selectAll('delivery')
    .select('event.id as event_id')
  if (status !== undefined) wanted = wanted.where('delivery.status', '=', status === 'held' ? 'pending' : status)
  if (status === 'held') wanted = wanted.where('delivery.held_at', 'is not', null)
  if (status === 'pending') wanted = wanted.where('delivery.held_at', 'is', null)
  const found = await wanted
    .orderBy('delivery.created_stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const last = placed
    .select('created_stamp as stamp')
    .offset(sql.lit(LOOKED_THROUGH - 1))
    .limit(sql.lit(1))
  const { rows, pagination } = await pageLookedFor(found, limit, until, (row) => row.created_stamp, last)
  const attempts = await attemptsOf(ctx, rows)
  return { deliveries: rows.map((row) => showDelivery(row, attempts.get(row.id) ?? [])), pagination }
}

function withEvent(ctx: OperatorCtx) {
  return ctx.db
    .selectFrom('delivery')
    .leftJoin('event', 'event.stamp', 'delivery.event_stamp')
    .selectAll('delivery')
    .select('event.id as event_id')
}

async function attemptsOf(ctx: OperatorCtx, rows: readonly Row<'delivery'>[]) {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return new Map<string, Row<'delivery_attempt'>[]>()
  const attempts = ctx.db.selectFrom('delivery_attempt').selectAll().where('delivery_id', 'in', ids)
  return Map.groupBy(await attempts.orderBy('attempt').execute(), (row) => row.delivery_id)
}

/** Refuses: not_found 404. */
export async function findDelivery(ctx: OperatorCtx, params: Params) {
  const id = params.id ?? ''
  const row = await withEvent(ctx).where('delivery.id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', `There is no delivery "${id.slice(0, 100)}".`)
  return row
}

/**
 * Sends a delivery once more, or one that waits for its next attempt now, with the same `webhook-id` and signed anew. When it fails it goes on in the schedule
 * where it was. Refuses: not_replayable 409 (its endpoint is gone or disabled, its lines are not kept, or it is under way or held).
 */
export async function replayDelivery(
  ctx: OperatorCtx,
  row: Awaited<ReturnType<typeof findDelivery>>,
): Promise<Delivery> {
  const table = row.endpoint_id.startsWith('ld_') ? 'log_drain' : 'webhook'
  const endpoint = await ctx.db
    .selectFrom(table)
    .select(['disabled_at', 'held_at'])
    .where('id', '=', row.endpoint_id)
    .executeTakeFirst()
  if (endpoint === undefined) refuse('not_replayable', 'The endpoint of this delivery is gone.')
  if (endpoint.disabled_at !== null)
    refuse('not_replayable', 'The endpoint of this delivery is disabled: enable it first.')
  if (endpoint.held_at !== null)
    refuse('not_replayable', 'The endpoint of this delivery is held: an OWNER has to take it over first.')
  if (row.event_id === null && row.body === null) refuse('not_replayable', 'What was delivered is not kept.')
  const again = await ctx.db
    .updateTable('delivery')
    .set({ status: 'pending', due_at: ctx.now, done_at: null })
    .where('id', '=', row.id)
    .where((eb) =>
      eb.or([
        eb.and([eb('due_at', 'is', null), eb('status', '!=', 'pending')]),
        // It waits for its next attempt. What is due sooner is under way, or about to be.
        eb.and([eb('held_at', 'is', null), eb('due_at', '>', ctx.now + LEASE_MS)]),
      ]),
    )
    .returningAll()
    .executeTakeFirst()
  if (again === undefined) refuse('not_replayable', 'The delivery is about to be made, or is held.')
  ctx.deps.nudges.deliveries()
  const attempts = await attemptsOf(ctx, [again])
  return showDelivery({ ...again, event_id: row.event_id }, attempts.get(row.id) ?? [])
}

/** Sweep: deliveries that are done with go 30 days after they were written, with their attempts. */
export async function forgetOldDeliveries(ctx: OperatorCtx, limit: number): Promise<number> {
  const rows = await ctx.db
    .selectFrom('delivery')
    .select('id')
    .where('created_stamp', '<', (ctx.now - KEPT_MS) * STAMPS_PER_MS)
    .where('status', '!=', 'pending')
    .orderBy('created_stamp')
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return 0
  await ctx.db.deleteFrom('delivery_attempt').where('delivery_id', 'in', ids).execute()
  await ctx.db.deleteFrom('delivery').where('id', 'in', ids).execute()
  return ids.length
}
