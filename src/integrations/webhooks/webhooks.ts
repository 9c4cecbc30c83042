/** Webhooks of an account. docs/spec/wire.md 3.8; docs/webhooks.md. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { transferEndpointOwnership } from './held.ts'
import {
  canSeeEndpoint,
  MAX_ENDPOINTS,
  MAX_LISTED_ENDPOINTS,
  mustBeEndpointUrl,
  validateEvents,
  validateProjects,
  visibleEndpoints,
} from './rules.ts'
import {
  type CreatedWebhook,
  type ListWebhooksQuery,
  type NewWebhook,
  type PatchWebhook,
  showWebhook,
  type Webhook,
} from './schema.ts'
import { newWebhookSecret } from './secret.ts'

/**
 * Registers a webhook. Only this response contains its secret. Refuses: bad_request 400, unknown_project 400, missing_permission 403,
 * too_many_endpoints 400.
 */
export async function createWebhook(
  ctx: Ctx,
  _: undefined,
  { body, agent }: Input<unknown, NewWebhook>,
): Promise<Static<typeof CreatedWebhook>> {
  mustBeEndpointUrl(ctx, body.url)
  const events = validateEvents(ctx, body.events)
  const projectIds = await validateProjects(ctx, body.projectIds)
  await mustHaveRoom(ctx)
  const secret = newWebhookSecret()
  const id = newId('hook')
  const box = await openSecretBoxToWrite(ctx, ctx.account.id)
  const row: Row<'webhook'> = {
    id,
    account_id: ctx.account.id,
    integration_id: null,
    configuration_id: ctx.caller.installationId,
    url: body.url,
    events_json: JSON.stringify(events),
    project_ids_json: projectIds && JSON.stringify(projectIds),
    sealed_secret: box.sealSecret('webhook', id, secret),
    created_by: ctx.caller.installationId === null ? ctx.caller.userId : null,
    created_stamp: ctx.stamp,
    updated_at: ctx.now,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    held_at: null,
    held_reason: null,
    ended_at: null,
  }
  await ctx.db.insertInto('webhook').values(row).execute()
  return { ...showWebhook(row, agent), secret }
}

/** Refuses: too_many_endpoints 400, when the users of the account, or the calling installation, have MAX_ENDPOINTS webhooks. */
async function mustHaveRoom(ctx: Ctx): Promise<void> {
  const { installationId } = ctx.caller
  const own = await webhooksOf(ctx)
    .where('configuration_id', installationId === null ? 'is' : '=', installationId)
    .limit(sql.lit(MAX_ENDPOINTS))
    .execute()
  if (own.length >= MAX_ENDPOINTS) refuse('too_many_endpoints')
}

/** The webhooks of the account without those of its integrations. Found by the account: the expression keeps SQLite from the index of integrations. */
function webhooksOf(ctx: Ctx) {
  return ctx.db
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where(sql`coalesce(integration_id, '')`, '=', '')
    .where('ended_at', 'is', null)
}

/** Finds a webhook that is visible to the caller, except that of an integration. Refuses: not_found 404. */
export async function findWebhook(ctx: Ctx, params: Params): Promise<Row<'webhook'>> {
  const id = params.id ?? ''
  const row = await ctx.db
    .selectFrom('webhook')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', ctx.account.id)
    .where('integration_id', 'is', null)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  if (row === undefined || !canSeeEndpoint(ctx, row)) refuse('not_found', `Webhook "${id.slice(0, 100)}" not found.`)
  return row
}

/**
 * Finds a webhook whose deliveries the caller may see: as `findWebhook`, or of an integration, for users who see the team's integrations and all of
 * its projects. Refuses: not_found 404.
 */
export async function findDeliveryWebhook(ctx: Ctx, params: Params): Promise<Row<'webhook'>> {
  const { permissions, projectIds, installationId } = ctx.caller
  if (!permissions.has('integration:read') || projectIds !== null || installationId !== null)
    return findWebhook(ctx, params)
  const row = await ctx.db
    .selectFrom('webhook')
    .selectAll()
    .where('id', '=', params.id ?? '')
    .where('account_id', '=', ctx.account.id)
    .where('integration_id', 'is not', null)
    .executeTakeFirst()
  return row ?? findWebhook(ctx, params)
}

/** Returns a webhook without its secret. */
export function getWebhook(_ctx: Ctx, row: Row<'webhook'>, { agent }: Input): Webhook {
  return showWebhook(row, agent)
}

/** Lists the newest webhooks that are visible to the caller, newest first. `projectId`: only those that receive its events. */
export async function listWebhooks(
  ctx: Ctx,
  _: undefined,
  { query, agent }: Input<Static<typeof ListWebhooksQuery>>,
): Promise<Webhook[]> {
  const { installationId } = ctx.caller
  let all = webhooksOf(ctx).orderBy('created_stamp', 'desc').limit(sql.lit(MAX_LISTED_ENDPOINTS))
  if (installationId !== null) all = all.where('configuration_id', '=', installationId)
  const visible = visibleEndpoints(ctx, await all.execute())
  const items = await mapInSlices(visible, (row) => showWebhook(row, agent))
  const { projectId } = query
  return projectId === undefined ? items : items.filter((hook) => hook.projectIds?.includes(projectId) ?? true)
}

/**
 * Changes the fields in the body, and enables a disabled webhook. The caller must be allowed to see all its events, because a new URL is a new
 * reader. Refuses as `createWebhook`, and: endpoint_held 409 (URL, events or projects of a webhook on hold, which needs a new owner first).
 */
export async function updateWebhook(
  ctx: Ctx,
  row: Row<'webhook'>,
  { body, agent }: Input<unknown, PatchWebhook>,
): Promise<Webhook> {
  if (body.url !== undefined) mustBeEndpointUrl(ctx, body.url)
  const before = row.project_ids_json === null ? null : (JSON.parse(row.project_ids_json) as string[])
  const events = validateEvents(ctx, body.events ?? JSON.parse(row.events_json ?? '[]'))
  const projectIds = body.projectIds === undefined ? before : await validateProjects(ctx, body.projectIds)
  const moved = body.url !== undefined && body.url !== row.url
  const isOther =
    moved || JSON.stringify(events) !== row.events_json || JSON.stringify(projectIds) !== JSON.stringify(before)
  if (isOther && row.held_at !== null) {
    const takeOver = `POST /v1/webhooks/${row.id}/transfer-ownership`
    refuse(
      'endpoint_held',
      `The webhook is held: an OWNER must take ownership of it (${takeOver}) before it is changed.`,
    )
  }
  const changed = await ctx.db
    .updateTable('webhook')
    .set({
      url: body.url ?? row.url,
      events_json: JSON.stringify(events),
      project_ids_json: projectIds && JSON.stringify(projectIds),
      updated_at: ctx.now,
      // Failures of the old URL do not count for the new one. The user who sets a URL becomes the creator, and the webhook goes on hold when their access ends.
      ...(moved && { failing_since: null, ...(row.configuration_id === null && { created_by: ctx.caller.userId }) }),
      ...(body.enabled && { failing_since: null, disabled_at: null, disabled_reason: null }),
    })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return showWebhook(changed, agent)
}

/** Makes the caller, an OWNER, the owner of a webhook, and resumes it if it was on hold. Refuses: bad_request 400, not_found 404. */
export async function transferWebhook(ctx: Ctx, row: Row<'webhook'>, { agent }: Input): Promise<Webhook> {
  await transferEndpointOwnership(ctx, 'webhook', row)
  return showWebhook(await findWebhook(ctx, { id: row.id }), agent)
}

/** Deletes a webhook and drops its pending deliveries. */
export async function deleteWebhook(ctx: Ctx, row: Row<'webhook'>): Promise<void> {
  await ctx.db.deleteFrom('webhook').where('id', '=', row.id).execute()
}
