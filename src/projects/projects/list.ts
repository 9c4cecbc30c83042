/** The list of projects, with every filter of operation 2. */
import {
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type RawBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { isAmong } from '../../platform/db/bulk.ts'
import { containsPattern, preparedQuery } from '../../platform/db/db.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { DEFAULT_LIMIT, isCursor, paginate, stampAfter, stampBefore } from '../../platform/http/pagination.ts'
import { hasEdgeConfig } from '../env/project-env.ts'
import { showBypass } from './bypass.ts'
import { fewThatName, findProjects, readFound } from './find.ts'
import { type ListProjectsQuery, type Project, type ProjectList, showProjectInList } from './schema.ts'

type Query = Static<typeof ListProjectsQuery>

/** Of the newest projects, how many a search with other filters reads before it asks the index of names. */
const LOOKED_AT_FIRST = 500
/** Up to this number of projects in a token, its list is sorted instead of scanned in order. */
const FEW = 200

/** Lists the account's projects, last updated first, that the token can see. Specification: operation 2. */
export async function listProjects(
  ctx: Ctx,
  _: undefined,
  { query }: Input<Query>,
): Promise<Static<typeof ProjectList>> {
  const { limit = DEFAULT_LIMIT } = query
  // A cursor in `from` is how SDK users page, whose getProjects has no `until` (docs/spec/wire.md 3.4). Infisical sends it in `since`.
  const from = query.from ?? query.since
  const continues = from !== undefined && isCursor(from)
  const until = continues ? from : query.until
  const since = continues ? undefined : from

  const { rows: items, pagination } = await (isFound(ctx, query)
    ? foundPage(ctx, query, { limit, until, since })
    : readPage(ctx, query, { limit, until, since }))
  const added: ReadonlyMap<string, object>[] = []
  for (const { showPage } of ctx.deps.projectHooks) if (showPage) added.push(await showPage(ctx, items))
  const projects = await mapInSlices(items, async (row) => {
    const protectionBypass = await showBypass(ctx, row)
    const parts = added.map((byId) => byId.get(row.id))
    return Object.assign(
      showProjectInList(row, ctx.account),
      ...parts,
      protectionBypass && { protectionBypass },
    ) as Project
  })
  return { projects, pagination }
}

type Placed = { limit: number; until: number | undefined; since: number | undefined }

/** Returns whether to find rows before reading them: on SQLite, if no index has their order. */
function isFound({ deps, caller }: Ctx, query: Query): boolean {
  const { search, excludeRepos, gitForkProtection, edgeConfigId, edgeConfigTokenId } = query
  const filters = [search || undefined, excludeRepos, gitForkProtection, edgeConfigId, edgeConfigTokenId]
  return deps.db.engine === 'sqlite' && (caller.projectIds !== null || filters.some((filter) => filter !== undefined))
}

async function foundPage(ctx: Ctx, query: Query, { limit, until, since }: Placed) {
  const { search, edgeConfigId, edgeConfigTokenId, repo, repoId, repoUrl, excludeRepos, gitForkProtection } = query
  const { projectIds } = ctx.caller
  const rowFilters = [repo, repoId, repoUrl, excludeRepos, gitForkProtection, edgeConfigId, edgeConfigTokenId]
  let ids = projectIds !== null && projectIds.length < FEW ? projectIds : undefined
  if (edgeConfigId !== undefined) ids ??= await fewThatName(ctx, 'edge_config_id', edgeConfigId)
  if (edgeConfigTokenId !== undefined) ids ??= await fewThatName(ctx, 'edge_config_token_id', edgeConfigTokenId)
  const found = await findProjects(ctx, {
    count: limit + 1,
    before: until === undefined ? undefined : stampBefore(until),
    after: since === undefined ? undefined : stampAfter(since),
    search: search || undefined,
    filters: (eb) => filters(eb, ctx, query),
    readsRows: projectIds !== null || rowFilters.some((filter) => filter !== undefined),
    ids,
  })
  const { rows, pagination } = paginate(found, limit, until, (row) => row.updated_stamp)
  return { rows: await readFound(ctx, rows), pagination }
}

async function readPage(ctx: Ctx, query: Query, { limit, until, since }: Placed) {
  const { projectIds } = ctx.caller
  const inPlace = ctx.db
    .selectFrom('project')
    .where('account_id', '=', ctx.account.id)
    .where((eb) => eb.and(placed(eb, until, since)))
  const select = inPlace.selectAll().where((eb) => eb.and(filters(eb, ctx, query)))
  const isFiltered = filters(expressionBuilder<Schema, 'project'>(), ctx, query).length > 0
  const rows = await (query.search
    ? isFiltered
      ? searchFiltered(ctx, select, query.search, limit + 1)
      : searchNames(inPlace, query.search, limit + 1)
    : newest(select, limit + 1, namesFew(query, projectIds)))
  return paginate(rows, limit, until, (row) => row.updated_stamp)
}

/** Lists with a project of more variables are not cached. */
const MAX_VARIABLES = 50

/** Returns the version of an unfiltered list if it depends only on its rows. Undefined on SQLite, where reads need no round trip. */
export async function projectListVersion(ctx: Ctx, { query }: Input<Query>): Promise<string | undefined> {
  const { limit = DEFAULT_LIMIT, ...filters } = query
  if (ctx.deps.db.engine !== 'postgres' || ctx.caller.projectIds !== null || limit > DEFAULT_LIMIT) return undefined
  if (Object.values(filters).some((filter) => filter !== undefined)) return undefined
  const [row] = await selectState(ctx.db, { accountId: ctx.account.id, count: limit + 1 })
  // The account is shown as the creator of deployments.
  return row?.state ? `${row.state} ${ctx.account.slug} ${ctx.account.email}` : undefined
}

/** PostgreSQL only: `xmin` is the transaction that last wrote a row. Null for projects with secrets, integration logos, or many variables. */
const selectState = preparedQuery<{ accountId: string; count: number }, { state: string | null }>((db, value) => ({
  compile: () =>
    sql<{ state: string | null }>`
      select case when bool_and(shown.simple) then md5(string_agg(shown.state, ',' order by shown.updated_stamp desc)) end as state
      from (
        select one.updated_stamp, concat_ws(':', one.id, one.version, variables.state) as state,
          one.bypass_json is null and variables.simple as simple
        from (
          select id, xmin::text as version, updated_stamp, bypass_json from project
          where account_id = ${value.accountId} order by updated_stamp desc limit ${value.count}
        ) as one
        cross join lateral (
          select string_agg(variable.id || variable.version, ',' order by variable.created_stamp) as state,
            count(*) <= ${sql.lit(MAX_VARIABLES)} and coalesce(bool_and(variable.configuration_id is null), true) as simple
          from (
            select id, xmin::text as version, created_stamp, configuration_id from env_var
            where project_id = one.id order by created_stamp desc limit ${sql.lit(MAX_VARIABLES + 1)}
          ) as variable
        ) as variables
      ) as shown`.compile(db),
}))

type Projects<Shown = object> = SelectQueryBuilder<Schema, 'project', Shown>

/** Walks the account's projects in their order; where they are `few`, finds them first and sorts them. */
function newest(projects: Projects<Row<'project'>>, count: number, few: boolean): Promise<Row<'project'>[]> {
  // No index holds the sum, so no engine walks by it.
  const order = few ? sql`updated_stamp + 0` : sql.ref('updated_stamp')
  return projects.orderBy(order, 'desc').limit(sql.lit(count)).execute()
}

/** Returns whether an indexed filter leaves so few projects that an ordered scan of the account would take longer. */
function namesFew({ domain, edgeConfigId, edgeConfigTokenId }: Query, projectIds: string[] | null): boolean {
  return (
    domain !== undefined ||
    edgeConfigId !== undefined ||
    edgeConfigTokenId !== undefined ||
    (projectIds?.length ?? FEW) < FEW
  )
}

/**
 * PostgreSQL only. Walks the index of the list's order, which holds the names, until the page is full, and reads only the projects of the page:
 * docs/scaling.md: How a search works.
 */
function searchNames(inPlace: Projects, search: string, count: number): Promise<Row<'project'>[]> {
  const stamps = inPlace
    .select('updated_stamp')
    .where(hasInName(search))
    .orderBy('updated_stamp', 'desc')
    .limit(sql.lit(count))
  return newest(inPlace.selectAll().where(sql<SqlBool>`updated_stamp = any(array${stamps})`), count, true)
}

/**
 * PostgreSQL only, where other filters read the rows. What is found often is found among the newest. What is not is looked for in the index of names,
 * and only what it finds is read.
 */
async function searchFiltered(
  ctx: Ctx,
  projects: Projects<Row<'project'>>,
  search: string,
  count: number,
): Promise<Row<'project'>[]> {
  const recent = projects.orderBy('updated_stamp', 'desc').limit(sql.lit(LOOKED_AT_FIRST)).as('project')
  const rows = await newest(ctx.db.selectFrom(recent).selectAll().where(hasInName(search)), count, false)
  if (rows.length === count) return rows
  const names = ctx.db
    .selectFrom('project')
    .select('name')
    .where('account_id', '=', ctx.account.id)
    .where(hasInName(search))
  // It would rather read every project of the account than look for some hundred names.
  return newest(projects.where(sql<SqlBool>`name = any(array${names})`), count, true)
}

function hasInName(search: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`name like ${containsPattern(search)} escape '!'`
}

type Builder = ExpressionBuilder<Schema, 'project'>

function placed(eb: Builder, until: number | undefined, since: number | undefined): Expression<SqlBool>[] {
  return [
    ...(until === undefined ? [] : [eb('updated_stamp', '<', stampBefore(until))]),
    ...(since === undefined ? [] : [eb('updated_stamp', '>', stampAfter(since))]),
  ]
}

function filters(eb: Builder, { db, caller }: Ctx, query: Query): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  if (caller.projectIds !== null) all.push(isAmong(db, 'id', caller.projectIds))
  if (query.repo !== undefined) all.push(eb('repo', '=', query.repo.toLowerCase()))
  if (query.repoId !== undefined) all.push(eb('repo_id', '=', query.repoId))
  if (query.repoUrl !== undefined) all.push(eb('repo_url', '=', urlOf(query.repoUrl)))
  if (query.excludeRepos) all.push(withoutRepos(eb, query.excludeRepos))
  if (query.gitForkProtection !== undefined) all.push(eb('git_fork_protection', '=', Number(query.gitForkProtection)))
  if (query.edgeConfigId !== undefined) all.push(hasEdgeConfig(eb, 'edge_config_id', query.edgeConfigId))
  if (query.edgeConfigTokenId !== undefined)
    all.push(hasEdgeConfig(eb, 'edge_config_token_id', query.edgeConfigTokenId))
  if (query.domain !== undefined || query.hasProductionDomains === '1' || query.hasProductionDomains === 'true')
    all.push(hasProductionDomain(eb, query.domain))
  return all
}

/** Matches a domain without branch and custom environment: any, or this one or one below it. */
function hasProductionDomain(eb: Builder, domain: string | undefined): Expression<SqlBool> {
  const domains = eb
    .selectFrom('project_domain')
    .select('project_domain.project_id')
    .whereRef('project_domain.account_id', '=', 'project.account_id')
    .where('project_domain.git_branch', 'is', null)
    .where('project_domain.custom_environment_id', 'is', null)
  if (domain === undefined) return eb.exists(domains.whereRef('project_domain.project_id', '=', 'project.id'))
  const name = domain.toLowerCase()
  const named = (where: 'name' | 'apex_name') => domains.where(`project_domain.${where}`, '=', name)
  return eb.or([eb('id', 'in', named('name')), eb('id', 'in', named('apex_name'))])
}

function withoutRepos(eb: Builder, excluded: string): Expression<SqlBool> {
  const none = eb('repo', 'is', null)
  return /^(1|true)$/.test(excluded) ? none : eb.or([none, eb('repo', 'not in', excluded.toLowerCase().split(','))])
}

/** A repository URL in stored form; accepts git clone URLs. */
function urlOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/\/$/, '')
    .replace(/\.git$/, '')
}
