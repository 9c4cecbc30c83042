/** Finds projects and domains by part of their names, and projects by id, in slices of an index. docs/scaling.md: How a search works. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import { containsPattern } from '../../platform/db/db.ts'
import { exactFirst, exactly, type FinderResult, isLonger, MAX_SEARCHED_PROJECTS } from './finder.ts'

/** Names of a kind scanned per search, and per statement: a millisecond. */
const MAX_NAMES = 50_000
const SLICE = 5000

/** Finds visible projects whose name contains the text, and one by its id. */
export async function findProjects(ctx: Ctx, text: string, count: number, typed: string): Promise<FinderResult> {
  const { projectIds } = ctx.caller
  const all = ctx.db.selectFrom('project').select(['id', 'name']).where('account_id', '=', ctx.account.id)
  if (projectIds !== null) {
    const found = await all
      .where('id', 'in', jsonArrayValues(ctx.db, JSON.stringify(projectIds.slice(0, MAX_SEARCHED_PROJECTS))))
      .where(sql<boolean>`(name like ${containsPattern(text)} escape '!' or id = ${typed})`)
      .orderBy(exactly('name', text))
      .orderBy('name')
      .limit(count)
      .execute()
    return { found, partial: projectIds.length > MAX_SEARCHED_PROJECTS }
  }
  const { names, partial } = await walkNames(ctx, 'project', text, count)
  const byId = await all.where('id', '=', typed).execute()
  const named = await all.where('name', 'in', names).orderBy('name').execute()
  return { found: [...byId, ...firstOf(named, text, count)].slice(0, count), partial }
}

/** Finds domains of visible projects whose name contains the text. */
export async function findDomains(ctx: Ctx, text: string, count: number): Promise<FinderResult> {
  const { projectIds } = ctx.caller
  if (projectIds !== null) return findDomainsOf(ctx, projectIds, text, count)
  const { names, partial } = await walkNames(ctx, 'project_domain', text, count)
  const rows = await ctx.db
    .selectFrom('project_domain')
    .select(['name', 'project_id'])
    .where('account_id', '=', ctx.account.id)
    .where('name', 'in', names)
    .orderBy('name')
    .execute()
  return { found: await withProjects(ctx, firstOf(rows, text, count)), partial }
}

async function findDomainsOf(
  ctx: Ctx,
  projectIds: readonly string[],
  text: string,
  count: number,
): Promise<FinderResult> {
  const domains = ctx.db
    .selectFrom('project_domain')
    .select(['name', 'project_id'])
    .where('account_id', '=', ctx.account.id)
    .where('project_id', 'in', jsonArrayValues(ctx.db, JSON.stringify(projectIds.slice(0, MAX_SEARCHED_PROJECTS))))
  const rows = await ctx.db
    .selectFrom(domains.limit(SLICE).as('some'))
    .selectAll()
    .where(sql<boolean>`name like ${containsPattern(text)} escape '!'`)
    .orderBy(exactly('name', text))
    .orderBy('name')
    .limit(count)
    .execute()
  const partial = projectIds.length > MAX_SEARCHED_PROJECTS || (await isLonger(domains, SLICE))
  return { found: await withProjects(ctx, rows), partial }
}

/** Returns names that contain the text, in order, and the text itself: it may be a name beyond the scan limit. */
async function walkNames(
  { db, account }: Ctx,
  table: 'project' | 'project_domain',
  text: string,
  count: number,
): Promise<{ names: string[]; partial: boolean }> {
  const pace = createYielder()
  const names = [text]
  let after = ''
  for (let looked = 0; looked < MAX_NAMES; looked += SLICE) {
    const rest = sql`from ${sql.table(table)} where account_id = ${account.id} and name > ${after} order by name`
    const found = await sql<{ name: string }>`
      select name from (select name ${rest} limit ${sql.lit(SLICE)}) as slice
      where name like ${containsPattern(text)} escape '!' order by name limit ${sql.lit(count)}`.execute(db)
    names.push(...found.rows.map(({ name }) => name))
    if (names.length > count) return { names, partial: false }
    const last = await sql<{ name: string }>`select name ${rest} limit 1 offset ${sql.lit(SLICE - 1)}`.execute(db)
    if (last.rows[0] === undefined) return { names, partial: false }
    after = last.rows[0].name
    await pace()
  }
  return { names, partial: true }
}

function firstOf<T extends { name: string }>(rows: readonly T[], text: string, count: number): T[] {
  return exactFirst(rows, text, ({ name }) => name).slice(0, count)
}

/** Adds the project of each row, in their order. */
export async function withProjects(
  ctx: Ctx,
  rows: readonly { name: string; project_id: string }[],
): Promise<FinderResult['found']> {
  if (rows.length === 0) return []
  const projects = await ctx.db
    .selectFrom('project')
    .select(['id', 'name'])
    .where('account_id', '=', ctx.account.id)
    .where('id', 'in', [...new Set(rows.map((row) => row.project_id))])
    .execute()
  const byId = new Map(projects.map((project) => [project.id, project]))
  return rows.map(({ name, project_id }) => ({ name, project: byId.get(project_id)! }))
}
