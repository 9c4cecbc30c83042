/** Aliases: domains of the account that point to a deployment. docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { hostsSaid } from '../../model/domain-name.ts'
import { findProject } from '../../model/project.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { isAmong } from '../../platform/db/bulk.ts'
import type { Row } from '../../platform/db/schema.ts'
import { newestPage, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { Alias, AliasPage, AliasQuery, DeploymentAliases, ListAliasesQuery } from './schema.ts'

type AliasRow = Row<'alias'> & { url: string }

/** Aliases in one response about a deployment; the list of aliases has the rest. */
const MAX_OF_A_DEPLOYMENT = 1000

/** Returns the id of an alias: its name, in characters that ids have. */
export function aliasId(name: string): string {
  return `als_${Buffer.from(name).toString('base64url')}`
}

function namesOf(ctx: Ctx, text: string): string[] {
  if (!text.startsWith('als_')) return hostsSaid(text, ctx.deps.config.domains)
  return [Buffer.from(text.slice('als_'.length), 'base64url').toString().replaceAll('\0', '')]
}

/** Lists the account's aliases by their domains, newest first. Omits projects that the token cannot see. */
export async function listAliases(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ListAliasesQuery>,
): Promise<Static<typeof AliasPage>> {
  const { from, since = from, projectId, domain } = query
  let aliases = visible(ctx)
  if (projectId !== undefined) aliases = aliases.where('alias.project_id', '=', projectId)
  if (domain !== undefined) {
    const names = domain.flatMap((host) => hostsSaid(host, ctx.deps.config.domains))
    aliases = aliases.where('alias.name', 'in', names)
  }
  const { rows, pagination } = await newestPage(aliases, { ...query, since }, 'alias')
  return { aliases: rows.map(showAlias), pagination }
}

/** Returns an alias if it matches the given project and time. Refuses: not_found 404. */
export function getAlias(_ctx: Ctx, alias: AliasRow, { query }: Input<AliasQuery>): Static<typeof Alias> {
  const { projectId = alias.project_id, until, from, since = from } = query
  const { created_stamp: stamp } = alias
  const within =
    (until === undefined || stamp < stampBefore(until)) && (since === undefined || stamp > stampAfter(since))
  if (projectId !== alias.project_id || !within) refuse('not_found', `Alias "${alias.name}" not found.`)
  return showAlias(alias)
}

/** Returns the aliases of one deployment by their domains, newest first. */
export async function listAliasesOfDeployment(
  ctx: Ctx,
  deployment: Row<'deployment'>,
): Promise<Static<typeof DeploymentAliases>> {
  const rows = await visible(ctx)
    .where('deployment_id', '=', deployment.id)
    .orderBy('alias.created_stamp', 'desc')
    .limit(MAX_OF_A_DEPLOYMENT)
    .execute()
  return { aliases: rows.map(showAlias) }
}

/** Returns an alias of the account by its id or name in the path. Refuses: not_found 404. */
export async function findAlias(ctx: Ctx, params: Params): Promise<AliasRow> {
  const idOrAlias = params.idOrAlias ?? ''
  const row = await visible(ctx).where('alias.name', 'in', namesOf(ctx, idOrAlias)).executeTakeFirst()
  if (row === undefined) refuse('not_found', `Alias "${idOrAlias.slice(0, 100)}" not found.`)
  return row
}

/** Returns an alias to remove, with its project. Refuses: not_found 404. */
export async function findAliasOfProject(
  ctx: Ctx,
  params: Params,
): Promise<{ alias: AliasRow; project: Row<'project'> }> {
  const alias = await findAlias(ctx, params)
  return { alias, project: await findProject(ctx, { projectId: alias.project_id }) }
}

/** Unassigns a domain until the next deployment or promote. The domain stays on its project. */
export async function deleteAlias(ctx: Ctx, { alias }: { alias: AliasRow }): Promise<{ status: 'SUCCESS' }> {
  await ctx.db.deleteFrom('alias').where('name', '=', alias.name).execute()
  await refreshDeploymentSummary(ctx, alias.project_id)
  return { status: 'SUCCESS' }
}

function showAlias(row: AliasRow): Alias {
  const createdAt = stampToMs(row.created_stamp)
  return {
    uid: aliasId(row.name),
    alias: row.name,
    created: new Date(createdAt).toISOString(),
    createdAt,
    updatedAt: row.updated_at,
    deletedAt: null,
    deployment: { id: row.deployment_id, url: row.url },
    deploymentId: row.deployment_id,
    projectId: row.project_id,
    redirect: null,
    redirectStatusCode: null,
  }
}

function visible(ctx: Ctx) {
  const aliases = ctx.db
    .selectFrom('alias')
    .innerJoin('deployment', 'deployment.id', 'alias.deployment_id')
    .selectAll('alias')
    .select('deployment.url')
    .where('alias.account_id', '=', ctx.account.id)
  const { projectIds } = ctx.caller
  return projectIds === null ? aliases : aliases.where(isAmong(ctx.db, 'alias.project_id', projectIds))
}
