/** Integrations, managed by their team or by the operator. docs/integrations.md. */
import type { Ctx, Input, OperatorCtx, Params } from '../../context.ts'
import { newId } from '../../platform/base/ids.ts'
import { isUniqueViolation, type Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { newestPage } from '../../platform/http/pagination.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { normalizeScopes } from '../../platform/permissions/scope-levels.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mustBeIntegration } from './rules.ts'
import type {
  Integration,
  IntegrationsOfQuery,
  IntegrationsQuery,
  NewIntegration,
  NewTeamIntegration,
  PatchIntegration,
} from './schema.ts'
import { addSecret } from './secrets.ts'
import { showIntegrations } from './show.ts'
import { removeIntegrationWebhook, setIntegrationWebhook } from './webhook.ts'

/** Registers an integration of the caller's team. Refuses: bad_request 400, integration_slug_taken 409. */
export async function createIntegration(ctx: Ctx, _: undefined, { body }: Input<unknown, NewIntegration>) {
  return insertIntegration(ctx, ctx.account.id, body)
}

/** Registers an integration of any team. Refuses as `createIntegration`, and: unknown_team 400. */
export async function createTeamIntegration(
  ctx: OperatorCtx,
  _: undefined,
  { body }: Input<unknown, NewTeamIntegration>,
) {
  const team = await ctx.db.selectFrom('account').select('kind').where('id', '=', body.teamId).executeTakeFirst()
  if (team?.kind !== 'team') refuse('unknown_team', `Team "${body.teamId}" not found.`)
  return insertIntegration(ctx, body.teamId, body)
}

async function insertIntegration(ctx: OperatorCtx, teamId: string, body: NewIntegration) {
  mustBeIntegration(ctx, body)
  const row = {
    id: newId('oac'),
    team_id: teamId,
    slug: body.slug,
    name: body.name,
    redirect_url: body.redirectUrl,
    logo_url: body.logoUrl ?? null,
    scopes_json: JSON.stringify(normalizeScopes(body.scopes)),
    created_stamp: ctx.stamp,
    updated_at: ctx.now,
  }
  try {
    await ctx.db.insertInto('integration').values(row).execute()
  } catch (error) {
    if (isUniqueViolation(error, 'integration_slug'))
      refuse('integration_slug_taken', `An integration "${body.slug}" already exists.`)
    throw error
  }
  await mustFit(ctx, 'integrations', teamId)
  if (body.webhookUrl) await setIntegrationWebhook(ctx, row, body.webhookUrl)
  const secret = await addSecret(ctx, row)
  return { id: row.id, clientId: row.id, clientSecret: secret.clientSecret, secretId: secret.id }
}

/** Reads an integration of any team, by id or slug. */
export function readIntegration(
  db: Queries,
  by: { id: string } | { slug: string },
): Promise<Row<'integration'> | undefined> {
  const all = db.selectFrom('integration').selectAll()
  return ('id' in by ? all.where('id', '=', by.id) : all.where('slug', '=', by.slug)).executeTakeFirst()
}

/** Finds an integration of any team, by id or slug. Refuses: not_found 404. */
export async function findIntegration(ctx: Pick<OperatorCtx, 'db'>, params: Params): Promise<Row<'integration'>> {
  const idOrSlug = params.id ?? params.slug ?? ''
  // Ids contain an underscore, slugs never do.
  const row = await readIntegration(ctx.db, idOrSlug.startsWith('oac_') ? { id: idOrSlug } : { slug: idOrSlug })
  if (row === undefined) refuse('not_found', `No integration "${idOrSlug.slice(0, 100)}".`)
  return row
}

/** Finds an integration of the caller's team, by id or slug. Refuses: not_found 404 (also for another team's integration). */
export async function findOwnIntegration(ctx: Ctx, params: Params): Promise<Row<'integration'>> {
  const row = await findIntegration(ctx, params)
  if (row.team_id !== ctx.account.id) refuse('not_found', `No integration "${params.id?.slice(0, 100)}".`)
  return row
}

/** Lists the integrations of the caller's team, newest first. */
export async function listIntegrations(ctx: Ctx, _: undefined, { query }: Input<IntegrationsQuery>) {
  return listOf(ctx, { ...query, teamId: ctx.account.id })
}

/** Lists the integrations of all teams, or of one team, newest first. */
export async function listAllIntegrations(ctx: OperatorCtx, _: undefined, { query }: Input<IntegrationsOfQuery>) {
  return listOf(ctx, query)
}

async function listOf(ctx: OperatorCtx, query: IntegrationsOfQuery) {
  let all = ctx.db.selectFrom('integration').selectAll()
  if (query.teamId !== undefined) all = all.where('team_id', '=', query.teamId)
  const { rows, pagination } = await newestPage(all, query)
  return { integrations: await showIntegrations(ctx, rows), pagination }
}

/** Formats an integration with the ids of its secrets, never a secret. */
export async function showIntegration(ctx: OperatorCtx, row: Row<'integration'>): Promise<Integration> {
  return (await showIntegrations(ctx, [row]))[0]!
}

/** Changes the integration alone. `updateIntegrationAndInstallations` applies scopes to its installations. Refuses: bad_request 400. */
export async function updateIntegration(
  ctx: OperatorCtx,
  integration: Row<'integration'>,
  body: PatchIntegration,
): Promise<Row<'integration'>> {
  mustBeIntegration(ctx, body)
  const row = await ctx.db
    .updateTable('integration')
    .set({
      name: body.name ?? integration.name,
      redirect_url: body.redirectUrl ?? integration.redirect_url,
      logo_url: body.logoUrl === undefined ? integration.logo_url : body.logoUrl,
      scopes_json: body.scopes === undefined ? integration.scopes_json : JSON.stringify(normalizeScopes(body.scopes)),
      updated_at: ctx.now,
    })
    .where('id', '=', integration.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  if (body.webhookUrl) await setIntegrationWebhook(ctx, row, body.webhookUrl)
  else if (body.webhookUrl === null) await removeIntegrationWebhook(ctx, row.id)
  return row
}

/** Deletes an integration without installations. Refuses: integration_installed 409. */
export async function deleteIntegration(ctx: OperatorCtx, { id, name }: Row<'integration'>): Promise<void> {
  const rows = await ctx.db
    .deleteFrom('integration')
    .where('id', '=', id)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('configuration')
            .select('configuration.id')
            .whereRef('configuration.integration_id', '=', 'integration.id')
            .where('configuration.deleted_at', 'is', null),
        ),
      ),
    )
    .returning('id')
    .executeTakeFirst()
  if (rows === undefined) {
    refuse('integration_installed', `"${name}" is installed. Uninstall it everywhere, then remove it.`)
  }
  await ctx.db.deleteFrom('integration_secret').where('integration_id', '=', id).execute()
  await removeIntegrationWebhook(ctx, id)
}
