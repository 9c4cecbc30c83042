/** Lists of domains: of a project (operation 11), and of an apex over all projects of the account. */
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { apexOf, canonicalName, nameToFind } from '../../model/domain-name.ts'
import { customTarget, environmentOf } from '../../model/environment.ts'
import { isAmong } from '../../platform/db/bulk.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { DEFAULT_LIMIT, isCursor, paginate, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import {
  type ApexDomainList,
  type ApexDomainsQuery,
  type DomainList,
  type ListDomainsQuery,
  showDomain,
} from './schema.ts'

type Builder = ExpressionBuilder<Schema, 'project_domain'>

/** Lists the domains of a project, newest first unless `order` is ASC. Refuses: invalid_domain 400 (as `redirect`). */
export async function listDomains(
  ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<ListDomainsQuery>,
): Promise<Static<typeof DomainList>> {
  const { limit = DEFAULT_LIMIT, order = 'DESC' } = query
  const { redirect } = query
  const target = redirect === undefined ? {} : { redirect: canonicalName(redirect, ctx.deps.config.domains) }
  const rows = await ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', project.account_id)
    .where('project_id', '=', project.id)
    .where((eb) => eb.and([...placed(eb, query, order), ...filters(eb, project, { ...query, ...target })]))
    .orderBy('created_stamp', order === 'ASC' ? 'asc' : 'desc')
    .limit(sql.lit(limit + 1))
    .execute()
  const { rows: items, pagination } = paginate(rows, limit, continuing(query, order), (row) => row.created_stamp)
  return { domains: items.map((row) => showDomain(row, ctx.deps.config.domains)), pagination }
}

/** Lists the domains of the account under an apex, newest first, on projects that the token can see. Refuses: not_found 404. */
export async function listDomainsOfApex(
  ctx: Ctx,
  _: undefined,
  { params, query }: Input<ApexDomainsQuery>,
): Promise<Static<typeof ApexDomainList>> {
  const { limit = DEFAULT_LIMIT, until } = query
  const apex = apexOf(nameToFind(params.domain ?? '', ctx.deps.config.domains))
  const { projectIds } = ctx.caller
  let domains = ctx.db
    .selectFrom('project_domain')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where('apex_name', '=', apex)
    .where((eb) => eb.and(placed(eb, query, 'DESC')))
  if (projectIds !== null) domains = domains.where(isAmong(ctx.db, 'project_id', projectIds))
  const rows = await domains
    .orderBy('created_stamp', 'desc')
    .limit(sql.lit(limit + 1))
    .execute()
  const { rows: items, pagination } = paginate(rows, limit, until, (row) => row.created_stamp)
  return { projectDomains: items.map((row) => showDomain(row, ctx.deps.config.domains)), pagination }
}

/**
 * Both ends are exclusive. Clients always continue with `until=<next>`. So in an ascending list a cursor there means "after this
 * one", while a timestamp still means "added before".
 */
function placed(eb: Builder, { until, since }: ApexDomainsQuery, order: 'ASC' | 'DESC'): Expression<SqlBool>[] {
  const forward = order === 'ASC' && until !== undefined && isCursor(until)
  const all: Expression<SqlBool>[] = []
  if (until !== undefined)
    all.push(forward ? eb('created_stamp', '>', until) : eb('created_stamp', '<', stampBefore(until)))
  if (since !== undefined) all.push(eb('created_stamp', '>', stampAfter(since)))
  return all
}

/** The cursor of a later page; undefined for the first page. */
function continuing({ until, since }: ListDomainsQuery, order: 'ASC' | 'DESC'): number | undefined {
  return order === 'ASC' && since !== undefined && isCursor(since) ? since : until
}

function filters(eb: Builder, project: Row<'project'>, query: ListDomainsQuery): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  const isProduction = [eb('git_branch', 'is', null), eb('custom_environment_id', 'is', null)]
  if (query.production === true) all.push(...isProduction)
  if (query.target === 'production') all.push(...isProduction)
  else if (query.target === 'preview')
    all.push(eb.or([eb('git_branch', 'is not', null), eb('custom_environment_id', 'is not', null)]))
  else if (query.target) all.push(eb('custom_environment_id', '=', customTarget(project, query.target)))
  if (query.gitBranch !== undefined) all.push(eb('git_branch', '=', query.gitBranch))
  if (query.redirects === false) all.push(eb('redirect', 'is', null))
  if (query.redirect !== undefined) all.push(eb('redirect', '=', query.redirect))
  if (query.customEnvironmentId)
    all.push(eb('custom_environment_id', '=', environmentOf(project, query.customEnvironmentId)?.id ?? ''))
  if (query.verified !== undefined) all.push(eb('verified_at', query.verified ? 'is not' : 'is', null))
  return all
}
