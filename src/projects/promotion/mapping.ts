/** Maps domains of promotes and rollbacks. docs/deployments.md: Promote and rollback in the background. */

import type { Ctx, Input, OperatorCtx } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import type { Row } from '../../platform/db/schema.ts'
import { DEFAULT_LIMIT, newestRows, paginate } from '../../platform/http/pagination.ts'
import { aliasId } from '../aliases/aliases.ts'
import { assignDomains } from '../serving/domain-assignment.ts'
import type { PromoteAliases, PromoteAliasesQuery } from './schema.ts'

export const MAPPING_SLICE = 25

type Request = Row<'alias_request'>

/**
 * Sweep: maps the current slice and begins the next, of the oldest open request. Work and progress share one transaction, so a
 * crash repeats nothing. Returns `limit` while a request is open, to keep the sweep running.
 */
export async function advanceAliasRequests(ctx: OperatorCtx, limit: number): Promise<number> {
  const request = await claimRequest(ctx)
  if (request === undefined) return 0
  await mapBegun(ctx, request)
  if ((await beginNext(ctx, request, limit)) === 0) {
    const status = (await hasFailed(ctx, request)) ? 'failed' : 'succeeded'
    await ctx.db
      .updateTable('alias_request')
      .set({ status, finished_at: ctx.now })
      .where('id', '=', request.id)
      .execute()
  }
  await refreshDeploymentSummary(ctx, request.project_id)
  return limit
}

/** Every writer locks the request first, which avoids deadlocks. */
function claimRequest(ctx: OperatorCtx): Promise<Request | undefined> {
  const open = ctx.db.selectFrom('alias_request').select('id').where('finished_at', 'is', null)
  return ctx.db
    .updateTable('alias_request')
    .set({ status: 'in-progress', advanced_stamp: ctx.stamp })
    .where('id', 'in', open.orderBy('advanced_stamp').limit(1))
    .where('finished_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}

/** A domain fails if it is no longer verified or no longer a production domain of the project. */
async function mapBegun(ctx: OperatorCtx, request: Request): Promise<void> {
  const rows = await ctx.db
    .updateTable('alias_mapping')
    .set({ status: 'completed' })
    .where('request_id', '=', request.id)
    .where('status', '=', 'in-progress')
    .returning(['name', 'place'])
    .execute()
  if (rows.length === 0) return
  const names = rows.map(({ name }) => name)
  const domains = await ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('project_id', '=', request.project_id)
    .where('name', 'in', names)
    .where('verified_at', 'is not', null)
    .where('git_branch', 'is', null)
    .where('custom_environment_id', 'is', null)
    .where('redirect', 'is', null)
    .execute()
  await assignDomains(ctx, domains, { id: request.to_deployment_id, project_id: request.project_id })
  const mapped = new Set(domains.map(({ name }) => name))
  const failed = rows.filter(({ name }) => !mapped.has(name)).map(({ place }) => place)
  if (failed.length === 0) return
  await ctx.db
    .updateTable('alias_mapping')
    .set({ status: 'failed' })
    .where('request_id', '=', request.id)
    .where('place', 'in', failed)
    .execute()
}

async function beginNext(ctx: OperatorCtx, request: Request, limit: number): Promise<number> {
  const next = ctx.db
    .selectFrom('alias_mapping')
    .select('place')
    .where('request_id', '=', request.id)
    .where('status', '=', 'pending')
    .orderBy('place')
    .limit(limit)
  const row = await ctx.db
    .updateTable('alias_mapping')
    .set({ status: 'in-progress' })
    .where('request_id', '=', request.id)
    .where('place', 'in', next)
    .returning('place')
    .execute()
  return row.length
}

async function hasFailed(ctx: OperatorCtx, request: Request): Promise<boolean> {
  const failed = await ctx.db
    .selectFrom('alias_mapping')
    .select('place')
    .where('request_id', '=', request.id)
    .where('status', '=', 'failed')
    .limit(1)
    .executeTakeFirst()
  return failed !== undefined
}

/** Lists the aliases of the last promote request with their status, newest first; `{}` without one. Specification: operation 9. */
export function listPromoteAliases(ctx: Ctx, project: Row<'project'>, input: Input<PromoteAliasesQuery>) {
  return listMappings(ctx, project, 'promote', input)
}

/** Lists the aliases of the last rollback for the CLI. */
export function listRollbackAliases(ctx: Ctx, project: Row<'project'>, input: Input<PromoteAliasesQuery>) {
  return listMappings(ctx, project, 'rollback', input)
}

async function listMappings(
  ctx: Ctx,
  project: Row<'project'>,
  type: Request['type'],
  { query, version = 1 }: Input<PromoteAliasesQuery>,
): Promise<PromoteAliases> {
  const request = await ctx.db
    .selectFrom('alias_request')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('type', '=', type)
    .executeTakeFirst()
  if (request === undefined) return {}
  const { limit = DEFAULT_LIMIT, until, failedOnly } = query
  let mappings = ctx.db.selectFrom('alias_mapping').selectAll().where('request_id', '=', request.id)
  if (failedOnly) mappings = mappings.where('status', '=', 'failed')
  const rows = await newestRows(mappings, query, 'place')
  const { rows: items, pagination } = paginate(rows, limit, until, (row) => row.place)
  const aliases = items.map(({ name, status }) => ({
    id: aliasId(name),
    alias: version < 9 ? name : { alias: name, deploymentId: request.to_deployment_id },
    status,
  }))
  return { aliases, pagination }
}
