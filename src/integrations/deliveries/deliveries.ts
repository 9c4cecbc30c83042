/** The log of deliveries and resending. The operator sees all, accounts see those of their webhooks. */
import { type SelectQueryBuilder, sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input, OperatorCtx, Params } from '../../context.ts'
import { EVENTS, type EventName } from '../../events.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { SCAN_LIMIT, scannedPage, stampBefore } from '../../platform/http/pagination.ts'
import { resolveEventName, subscribedName } from '../../platform/outbox/event-names.ts'
import type { Permission } from '../../platform/permissions/roles.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import {
  type Delivery,
  type DeliveryList,
  type ListDeliveriesOfQuery,
  type ListDeliveriesQuery,
  showDelivery,
} from '../webhooks/schema.ts'
import { findDeliveryWebhook } from '../webhooks/webhooks.ts'
import { bodyOf } from './endpoint.ts'
import { UNDER_WAY_MS } from './queue.ts'

const RETENTION_MS = 30 * 86_400_000
/** A delivery with this many is not resent: each is kept, and a list reads all of them. */
export const MAX_ATTEMPTS = 50

/**
 * Lists deliveries with their attempts, newest first. No index has the status, so a filter searches the next SCAN_LIMIT deliveries and `next`
 * continues there. docs/webhooks.md: Delivery log.
 */
export async function listDeliveries(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<Static<typeof ListDeliveriesQuery>>,
): Promise<Static<typeof DeliveryList>> {
  const { endpointId, ...filter } = query
  const all = ctx.db.selectFrom('delivery')
  return pageOfDeliveries(ctx, endpointId === undefined ? all : all.where('endpoint_id', '=', endpointId), filter)
}

/** Lists the deliveries of a webhook as `listDeliveries` does. A project-limited token sees only events of its projects. */
export async function listWebhookDeliveries(
  ctx: Ctx,
  { id }: Pick<Row<'webhook'>, 'id'>,
  { query }: Input<Static<typeof ListDeliveriesOfQuery>>,
): Promise<Static<typeof DeliveryList>> {
  return pageOfDeliveries(ctx, ctx.db.selectFrom('delivery').where('endpoint_id', '=', id), {
    ...query,
    projectIds: narrowTo(ctx),
  })
}

type DeliveryFilter = Static<typeof ListDeliveriesOfQuery> & { projectIds?: readonly string[] | null }

async function pageOfDeliveries(
  ctx: OperatorCtx,
  all: SelectQueryBuilder<Schema, 'delivery', object>,
  query: DeliveryFilter,
): Promise<Static<typeof DeliveryList>> {
  const { until, status, type, projectIds = null } = query
  let placed = all.orderBy('created_stamp', 'desc')
  if (until !== undefined) placed = placed.where('created_stamp', '<', stampBefore(until))
  let select = ctx.db
    .selectFrom(placed.selectAll().limit(sql.lit(SCAN_LIMIT)).as('delivery'))
    .leftJoin('event', 'event.stamp', 'delivery.event_stamp')
    .selectAll('delivery')
    .select(['event.id as event_id', 'event.project_id'])
  if (status !== undefined) select = select.where('delivery.status', '=', status === 'held' ? 'pending' : status)
  if (status === 'held') select = select.where('delivery.held_at', 'is not', null)
  if (status === 'pending') select = select.where('delivery.held_at', 'is', null)
  if (type !== undefined) select = select.where('delivery.type', '=', resolveEventName(type) ?? type)
  if (projectIds !== null) select = select.where('event.project_id', 'in', [...projectIds])
  const { rows, pagination } = await scannedPage(select, placed, query, 'delivery', 'created_stamp')
  const attempts = await attemptsOf(ctx, rows)
  return { deliveries: rows.map((row) => showDelivery(row, attempts.get(row.id) ?? [])), pagination }
}

/** The projects of a project-limited token; null for all. An installation sees everything sent to its webhooks. */
function narrowTo({ caller }: Ctx): readonly string[] | null {
  return caller.installationId === null ? caller.projectIds : null
}

function withEvent(ctx: OperatorCtx) {
  return ctx.db
    .selectFrom('delivery')
    .leftJoin('event', 'event.stamp', 'delivery.event_stamp')
    .selectAll('delivery')
    .select(['event.id as event_id', 'event.project_id'])
}

/** With private networks allowed, only the operator sees responses. Otherwise an account could read from services that it cannot reach. */
async function attemptsOf(ctx: OperatorCtx, rows: readonly Row<'delivery'>[]) {
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return new Map<string, Row<'delivery_attempt'>[]>()
  const attempts = ctx.db.selectFrom('delivery_attempt').selectAll().where('delivery_id', 'in', ids)
  const attemptRows = await attempts.orderBy('attempt').execute()
  const hidden = ctx.deps.config.allowPrivateWebhooks && ctx.actor.kind !== 'operator'
  return Map.groupBy(
    hidden ? attemptRows.map((row) => ({ ...row, response: null })) : attemptRows,
    (row) => row.delivery_id,
  )
}

/** Finds any delivery, with its event. Refuses: not_found 404. */
export async function findDelivery(ctx: OperatorCtx, params: Params) {
  const id = params.id ?? ''
  const row = await withEvent(ctx).where('delivery.id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', `Delivery "${id.slice(0, 100)}" not found.`)
  return row
}

/** Finds a delivery to a webhook that is visible to the caller. Refuses: not_found 404. */
export async function findWebhookDelivery(ctx: Ctx, params: Params) {
  const webhook = await findDeliveryWebhook(ctx, params)
  const id = params.deliveryId ?? ''
  const row = await withEvent(ctx)
    .where('delivery.id', '=', id)
    .where('delivery.endpoint_id', '=', webhook.id)
    .executeTakeFirst()
  const narrow = narrowTo(ctx)
  if (row === undefined || (narrow !== null && !narrow.includes(row.project_id ?? '')))
    refuse('not_found', `Delivery "${id.slice(0, 100)}" not found.`)
  return row
}

async function getDelivery(ctx: OperatorCtx, row: Awaited<ReturnType<typeof findDelivery>>): Promise<Delivery> {
  return showDelivery(row, (await attemptsOf(ctx, [row])).get(row.id) ?? [])
}

/** Returns a delivery of the caller's webhook, with the request body for callers who can resend it. */
export async function getWebhookDelivery(ctx: Ctx, row: Awaited<ReturnType<typeof findDelivery>>): Promise<Delivery> {
  const delivery = await getDelivery(ctx, row)
  // Before the first attempt, it is not yet decided whether the endpoint may receive the event.
  const request = delivery.attempts.length === 0 ? undefined : await requestOf(ctx, row)
  return { ...delivery, ...(request !== undefined && { request }) }
}

/** The body of a delivery. Undefined for installations and for callers who cannot change the webhook or see the event. */
async function requestOf({ db, caller }: Ctx, row: Row<'delivery'>): Promise<string | undefined> {
  const columns = ['integration_id', 'events_json'] as const
  const webhook = await db.selectFrom('webhook').select(columns).where('id', '=', row.endpoint_id).executeTakeFirst()
  const event = await db.selectFrom('event').selectAll().where('stamp', '=', row.event_stamp).executeTakeFirst()
  if (webhook === undefined || event === undefined || caller.installationId !== null) return undefined
  const needs: Permission[] = [
    webhook.integration_id === null ? 'webhook:write' : 'integration:write',
    ...EVENTS[event.type as EventName].needs,
    ...(event.type.startsWith('project.env-variable.') ? (['env:all'] as const) : []),
  ]
  if (!needs.every((permission) => caller.permissions.has(permission))) return undefined
  return bodyOf(event, subscribedName(webhook.events_json, event.type) ?? event.type)
}

/**
 * Resends a delivery, or sends a pending one now. It keeps its `webhook-id` and its place in the retry schedule, and gets a new signature. Refuses:
 * not_replayable 409 (endpoint deleted, disabled or on hold; log lines no longer stored; in flight or on hold; MAX_ATTEMPTS).
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
  if (endpoint === undefined) refuse('not_replayable', 'The endpoint of this delivery was deleted.')
  mustBeSendable(endpoint)
  if (row.event_id === null && row.body === null)
    refuse('not_replayable', 'The content of this delivery is no longer stored.')
  if (row.attempts >= MAX_ATTEMPTS)
    refuse('not_replayable', `The delivery was attempted ${row.attempts} times and is not sent again.`)
  const again = await ctx.db
    .updateTable('delivery')
    .set({ status: 'pending', due_at: ctx.now, done_at: null })
    .where('id', '=', row.id)
    .where((eb) =>
      eb.or([
        eb.and([eb('due_at', 'is', null), eb('status', '!=', 'pending')]),
        // It waits for its next attempt. A delivery due sooner is in flight, or about to be.
        eb.and([eb('held_at', 'is', null), eb('due_at', '>', ctx.now + UNDER_WAY_MS)]),
      ]),
    )
    .returningAll()
    .executeTakeFirst()
  if (again === undefined) refuse('not_replayable', 'The delivery is in flight, about to be sent, or on hold.')
  ctx.deps.wakeups.deliveries()
  return getDelivery(ctx, { ...row, ...again })
}

/** Checks that the endpoint is enabled and not on hold. Refuses: not_replayable 409. */
export function mustBeSendable({ disabled_at, held_at }: Pick<Row<'webhook'>, 'disabled_at' | 'held_at'>): void {
  if (disabled_at !== null) refuse('not_replayable', 'The endpoint of this delivery is disabled: enable it first.')
  if (held_at !== null)
    refuse('not_replayable', 'The endpoint of this delivery is held: an OWNER must take ownership of it first.')
}

/**
 * As `replayDelivery`, for a webhook of the caller. For an integration's webhook the caller must be able to change the integration. Refuses also:
 * missing_permission 403.
 */
export async function replayWebhookDelivery(
  ctx: Ctx,
  row: Awaited<ReturnType<typeof findDelivery>>,
): Promise<Delivery> {
  const webhook = ctx.db.selectFrom('webhook').select('integration_id').where('id', '=', row.endpoint_id)
  if ((await webhook.executeTakeFirst())?.integration_id != null) permit(ctx.caller, ['integration:write'])
  return replayDelivery(ctx, row)
}

/** Sweep: deletes finished deliveries and their attempts after 30 days. */
export async function purgeOldDeliveries(ctx: OperatorCtx, limit: number): Promise<number> {
  const rows = await ctx.db
    .selectFrom('delivery')
    .select('id')
    .where('created_stamp', '<', (ctx.now - RETENTION_MS) * STAMPS_PER_MS)
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
