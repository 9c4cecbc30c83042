/** Log drains by `/v1/drains`, for newer clients. docs/webhooks.md: Log drains. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { validateProjects } from '../webhooks/rules.ts'
import {
  type Drain,
  type DrainList,
  type ListDrainsQuery,
  type NewDrain,
  type PatchDrain,
  showDrain,
} from './drain-schema.ts'
import { maskHeaderValues, parseHeaders, readHeaders, sealHeaders } from './headers.ts'
import { drainProjects, linesOf, mustBeEndpoint, mustBeLogs, mustBeSource } from './rules.ts'
import { type DrainRow, ENVIRONMENTS } from './schema.ts'
import { findDrain, insertDrain, listVisibleDrains } from './store.ts'

/**
 * Creates a log drain, and a secret if none is sent. Only this response contains secret and headers. Refuses: bad_request 400, unknown_project 400,
 * missing_permission 403, too_many_endpoints 400.
 */
export async function createDrain(ctx: Ctx, _: undefined, { body }: Input<unknown, NewDrain>): Promise<Drain> {
  const { delivery } = body
  mustBeLogs(body.schemas)
  mustBeSource(body.source, ctx.caller.installationId)
  mustBeEndpoint(ctx, delivery)
  const headers = parseHeaders(delivery.headers ?? {}, 'delivery.headers')
  const { row, secret } = await insertDrain(ctx, {
    name: body.name,
    url: delivery.endpoint,
    deliveryFormat: delivery.encoding,
    headers,
    secret: delivery.secret,
    ...linesOf(body.filter),
    projectIds: drainProjects(body),
    sampling: body.sampling,
  })
  return showDrain(row, headers, secret)
}

/** Returns a drain with the names of its headers, without values. */
export async function getDrain(ctx: Ctx, row: DrainRow): Promise<Drain> {
  return showDrain(row, maskHeaderValues(await readHeaders(ctx, row)))
}

/** Lists the drains that are visible to the caller, newest first. `projectId`: only those that receive lines of that project. */
export async function listDrains(
  ctx: Ctx,
  _: undefined,
  { query: { projectId } }: Input<Static<typeof ListDrainsQuery>>,
): Promise<Static<typeof DrainList>> {
  const drains = await mapInSlices(await listVisibleDrains(ctx), (row) => getDrain(ctx, row))
  return {
    drains: projectId === undefined ? drains : drains.filter((drain) => drain.projectIds?.includes(projectId) ?? true),
  }
}

/**
 * Changes the fields in the body. `filter` and `delivery` each replace the stored one, except an absent secret and, while the URL stays, a masked
 * header. Refuses as `createDrain`, and: endpoint_held 409 (a new URL or resuming needs an OWNER to become the owner first).
 */
export async function updateDrain(ctx: Ctx, row: DrainRow, { body }: Input<unknown, PatchDrain>): Promise<Drain> {
  if (body.schemas !== undefined) mustBeLogs(body.schemas)
  mustBeSource(body.source, row.configuration_id)
  const moved = body.delivery !== undefined && body.delivery.endpoint !== row.url
  if (row.held_at !== null && (moved || body.status === 'enabled')) {
    const takeOver = `POST /v1/log-drains/${row.id}/transfer-ownership`
    refuse('endpoint_held', `The log drain is on hold: an OWNER has to become its owner (${takeOver}) to resume it.`)
  }
  const { delivery, headers } = await changeDelivery(ctx, row, body.delivery, moved)
  const { sources, environments } = linesOf(body.filter)
  const ids = drainProjects(body)
  const projectIds = ids === undefined ? undefined : await validateProjects(ctx, ids)
  await ctx.db
    .updateTable('log_drain')
    .set({
      ...delivery,
      name: body.name ?? row.name,
      ...(projectIds !== undefined && { project_ids_json: projectIds && JSON.stringify(projectIds) }),
      ...(body.filter !== undefined && {
        sources_json: sources ? JSON.stringify(sources) : null,
        environments_json: JSON.stringify(environments ?? ENVIRONMENTS),
      }),
      ...(body.sampling !== undefined && { sampling_json: body.sampling && JSON.stringify(body.sampling) }),
      // Failures of the old URL do not count for the new one. The user who sets a URL becomes the creator, and the drain goes on hold when their access ends.
      ...(moved && { failing_since: null, ...(row.configuration_id === null && { created_by: ctx.caller.userId }) }),
      ...(body.status === 'enabled' && { failing_since: null, disabled_at: null, disabled_reason: null }),
      ...(body.status === 'disabled' && row.disabled_at === null && { disabled_at: ctx.now, disabled_reason: 'owner' }),
      updated_at: ctx.now,
    })
    .where('id', '=', row.id)
    .execute()
  return showDrain(await findDrain(ctx, { id: row.id }), headers)
}

type Delivery = PatchDrain['delivery']

/** The columns of a changed delivery, and the headers for the response. */
async function changeDelivery(ctx: Ctx, row: DrainRow, delivery: Delivery, moved: boolean) {
  const before = await readHeaders(ctx, row)
  if (delivery === undefined) return { delivery: {}, headers: maskHeaderValues(before) }
  mustBeEndpoint(ctx, delivery)
  const headers = parseHeaders(delivery.headers ?? {}, 'delivery.headers')
  const unchanged = Object.keys(headers).filter((name) => headers[name] === '' && before[name])
  if (moved && unchanged.length > 0) {
    const name = `\`delivery.headers.${unchanged[0]}\``
    refuse(
      'bad_request',
      `Invalid request: ${name} should be sent again when the address changes: the stored value is for the old one.`,
    )
  }
  const box = await openSecretBoxToWrite(ctx, row.account_id)
  const after = { ...headers, ...Object.fromEntries(unchanged.map((name) => [name, before[name]!])) }
  return {
    delivery: {
      url: delivery.endpoint,
      delivery_format: delivery.encoding,
      sealed_headers: sealHeaders(box, row.id, after),
      ...(delivery.secret !== undefined && { sealed_secret: box.sealSecret('log-drain', row.id, delivery.secret) }),
    },
    headers,
  }
}
