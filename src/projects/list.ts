/** The list of projects, with every filter of operation 2. */
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { envOfProjects, hasEdgeConfig } from '../env/project-env.ts'
import { DEFAULT_LIMIT, isCursor, page, stampAfter, stampBefore } from '../http/page.ts'
import type { Input } from '../http/route.ts'
import { showBypass } from './bypass.ts'
import { type ListProjectsQuery, type ProjectList, showProject } from './shape.ts'

type Query = Static<typeof ListProjectsQuery>

/** Lists the account's projects, last updated first; those the token may not see are not there. */
export async function listProjects(
  ctx: Ctx,
  _: undefined,
  { query }: Input<Query>,
): Promise<Static<typeof ProjectList>> {
  const { limit = DEFAULT_LIMIT } = query
  // A `from` that is a cursor is how SDK users page: their getProjects has no `until` (wire.md 3.4).
  const continues = query.from !== undefined && isCursor(query.from)
  const until = continues ? query.from : query.until
  const since = continues ? undefined : query.from

  const rows = await ctx.db
    .selectFrom('project')
    .selectAll()
    .where('account_id', '=', ctx.account.id)
    .where((eb) => eb.and([...placed(eb, until, since), ...filters(eb, query, ctx.who.projectIds)]))
    .orderBy('updated_stamp', 'desc')
    .limit(limit + 1)
    .execute()
  const { rows: shown, pagination } = page(rows, limit, until, (row) => row.updated_stamp)
  const env = await envOfProjects(
    ctx,
    shown.map((row) => row.id),
  )
  const projects = shown.map(async (row) => {
    const protectionBypass = await showBypass(ctx, row)
    return { ...showProject(row, env.get(row.id)), ...(protectionBypass && { protectionBypass }) }
  })
  return { projects: await Promise.all(projects), pagination }
}

type Builder = ExpressionBuilder<Schema, 'project'>

function placed(eb: Builder, until: number | undefined, since: number | undefined): Expression<SqlBool>[] {
  return [
    ...(until === undefined ? [] : [eb('updated_stamp', '<', stampBefore(until))]),
    ...(since === undefined ? [] : [eb('updated_stamp', '>', stampAfter(since))]),
  ]
}

function filters(eb: Builder, query: Query, projectIds: string[] | null): Expression<SqlBool>[] {
  const all: Expression<SqlBool>[] = []
  if (projectIds !== null) all.push(eb('id', 'in', projectIds))
  if (query.search) all.push(sql<boolean>`name like ${containing(query.search)} escape '!'`)
  if (query.repo !== undefined) all.push(eb('repo', '=', query.repo))
  if (query.repoId !== undefined) all.push(eb('repo_id', '=', query.repoId))
  if (query.repoUrl !== undefined) all.push(eb('repo_url', '=', query.repoUrl))
  if (query.excludeRepos) all.push(withoutRepos(eb, query.excludeRepos))
  if (query.gitForkProtection !== undefined) all.push(eb('git_fork_protection', '=', Number(query.gitForkProtection)))
  if (query.edgeConfigId !== undefined) all.push(hasEdgeConfig(eb, 'edge_config_id', query.edgeConfigId))
  if (query.edgeConfigTokenId !== undefined)
    all.push(hasEdgeConfig(eb, 'edge_config_token_id', query.edgeConfigTokenId))
  return all
}

function withoutRepos(eb: Builder, excluded: string): Expression<SqlBool> {
  const none = eb('repo', 'is', null)
  return /^(1|true)$/.test(excluded) ? none : eb.or([none, eb('repo', 'not in', excluded.split(','))])
}

/** Names are lower case, so a lower-case pattern makes the search blind to case on both engines. */
function containing(search: string): string {
  return `%${search.toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`
}
