/** Log drains of an account, for all families of paths. docs/spec/wire.md 6; docs/webhooks.md. */
import { sql } from 'kysely'
import type { Ctx, Params } from '../../context.ts'
import { newId, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { transferEndpointOwnership } from '../webhooks/held.ts'
import {
  canSeeEndpoint,
  MAX_ENDPOINTS,
  MAX_LISTED_ENDPOINTS,
  validateProjects,
  visibleEndpoints,
} from '../webhooks/rules.ts'
import type { Sampling } from './drain-schema.ts'
import { sealHeaders } from './headers.ts'
import { type DrainEnvironment, type DrainRow, ENVIRONMENTS, type Source } from './schema.ts'

/** A new drain, with its URL and headers checked. */
export type DrainSpec = {
  name: string
  url: string
  deliveryFormat: 'json' | 'ndjson'
  headers: Record<string, string>
  secret: string | undefined
  sources: readonly Source[] | undefined
  environments: readonly DrainEnvironment[] | undefined
  projectIds: readonly string[] | null | undefined
  sampling: Sampling | undefined
}

/** Inserts a log drain and returns it with its secret, generated if absent. Refuses: unknown_project 400, missing_permission 403, too_many_endpoints 400. */
export async function insertDrain(ctx: Ctx, spec: DrainSpec): Promise<{ row: DrainRow; secret: string }> {
  const projectIds = await validateProjects(ctx, spec.projectIds)
  await mustHaveRoom(ctx)
  const id = newId('ld')
  const secret = spec.secret ?? randomText(40)
  const box = await openSecretBoxToWrite(ctx, ctx.account.id)
  const row: Row<'log_drain'> = {
    id,
    account_id: ctx.account.id,
    configuration_id: ctx.caller.installationId,
    name: spec.name,
    url: spec.url,
    delivery_format: spec.deliveryFormat,
    sealed_secret: box.sealSecret('log-drain', id, secret),
    sealed_headers: sealHeaders(box, id, spec.headers),
    sources_json: spec.sources ? JSON.stringify(spec.sources) : null,
    environments_json: JSON.stringify(spec.environments ?? ENVIRONMENTS),
    project_ids_json: projectIds && JSON.stringify(projectIds),
    sampling_json: spec.sampling ? JSON.stringify(spec.sampling) : null,
    created_by: ctx.caller.installationId === null ? ctx.caller.userId : null,
    created_stamp: ctx.stamp,
    updated_at: ctx.now,
    failing_since: null,
    disabled_at: null,
    disabled_reason: null,
    held_at: null,
    held_reason: null,
  }
  await ctx.db.insertInto('log_drain').values(row).execute()
  return { row: await withIntegration(ctx).where('log_drain.id', '=', id).executeTakeFirstOrThrow(), secret }
}

/** Refuses: too_many_endpoints 400, when the users of the account, or the calling installation, have MAX_ENDPOINTS drains. */
async function mustHaveRoom({ db, account, caller: { installationId } }: Ctx): Promise<void> {
  const own = await db
    .selectFrom('log_drain')
    .select('id')
    .where('account_id', '=', account.id)
    .where('configuration_id', installationId === null ? 'is' : '=', installationId)
    .limit(sql.lit(MAX_ENDPOINTS))
    .execute()
  if (own.length >= MAX_ENDPOINTS) refuse('too_many_endpoints')
}

function withIntegration(ctx: Ctx) {
  return ctx.db
    .selectFrom('log_drain')
    .leftJoin('configuration', 'configuration.id', 'log_drain.configuration_id')
    .selectAll('log_drain')
    .select('configuration.integration_id')
    .where('log_drain.account_id', '=', ctx.account.id)
}

/** Finds a drain that is visible to the caller. Refuses: not_found 404. */
export async function findDrain(ctx: Ctx, params: Params): Promise<DrainRow> {
  const id = params.id ?? ''
  const row = await withIntegration(ctx).where('log_drain.id', '=', id).executeTakeFirst()
  if (row === undefined || !canSeeEndpoint(ctx, row)) refuse('not_found', `Log drain "${id.slice(0, 100)}" not found.`)
  return row
}

/** Lists the newest drains that are visible to the caller, newest first. */
export async function listVisibleDrains(ctx: Ctx): Promise<DrainRow[]> {
  const { installationId } = ctx.caller
  let all = withIntegration(ctx).orderBy('log_drain.created_stamp', 'desc').limit(sql.lit(MAX_LISTED_ENDPOINTS))
  if (installationId !== null) all = all.where('configuration_id', '=', installationId)
  return visibleEndpoints(ctx, await all.execute())
}

/** Makes the caller, an OWNER, the owner of a drain, and resumes it if it was on hold. Refuses: bad_request 400, not_found 404. */
export async function transferDrainOwnership(ctx: Ctx, row: Row<'log_drain'>): Promise<DrainRow> {
  await transferEndpointOwnership(ctx, 'log_drain', row)
  return findDrain(ctx, { id: row.id })
}

/** Removes a drain and drops its pending lines. */
export async function deleteDrain(ctx: Ctx, row: Row<'log_drain'>): Promise<void> {
  await ctx.db.deleteFrom('log_drain').where('id', '=', row.id).execute()
}
