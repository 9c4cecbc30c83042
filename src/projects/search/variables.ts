/** Finds variable keys by part, and variables by id, in the most recently changed projects. It reads no values. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import { containsPattern } from '../../platform/db/db.ts'
import { visibleTo } from '../env/access.ts'
import { exactFirst, type FinderResult, MAX_SEARCHED_PROJECTS } from './finder.ts'

/** Variable slots scanned per search. A variable in two environments has two. */
const MAX_PLACES = 20_000
/** Slots per statement, unless one project has more. */
const SLICE = 1000
const ENOUGH = 100

type Project = { id: string; name: string }

/** Finds variables by a part of the key or by id, in the most recently changed projects. */
export async function findVariables(ctx: Ctx, text: string, count: number, typed: string): Promise<FinderResult> {
  const { projects, partial } = await recentProjects(ctx)
  const { slices, partial: isCut } = cut(projects, await placesOf(ctx, projects))
  const found: FinderResult['found'] = []
  const pace = createYielder()
  for (const slice of slices) {
    found.push(...(await findIn(ctx, slice, text, typed)))
    if (found.length >= ENOUGH) break
    await pace()
  }
  return { found: exactFirst(found, text, ({ name }) => name).slice(0, count), partial: partial || isCut }
}

async function recentProjects({ db, account, caller }: Ctx): Promise<{ projects: Project[]; partial: boolean }> {
  let recent = db.selectFrom('project').select(['id', 'name']).where('account_id', '=', account.id)
  if (caller.projectIds !== null)
    recent = recent.where(
      'id',
      'in',
      jsonArrayValues(db, JSON.stringify(caller.projectIds.slice(0, MAX_SEARCHED_PROJECTS))),
    )
  const rows = await recent
    .orderBy('updated_stamp', 'desc')
    .limit(MAX_SEARCHED_PROJECTS + 1)
    .execute()
  const partial = rows.length > MAX_SEARCHED_PROJECTS || (caller.projectIds?.length ?? 0) > MAX_SEARCHED_PROJECTS
  return { projects: rows.slice(0, MAX_SEARCHED_PROJECTS), partial }
}

/** Variable slots per project; omits projects without variables. */
async function placesOf({ db }: Ctx, projects: readonly Project[]): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('env_usage')
    .select(['project_id', ({ fn }) => fn.sum<number>('variables').as('places')])
    .where('project_id', 'in', jsonArrayValues(db, JSON.stringify(projects.map(({ id }) => id))))
    .groupBy('project_id')
    .execute()
  return new Map(rows.map(({ project_id, places }) => [project_id, Number(places)]))
}

/** Groups projects per statement by slots. Omits those beyond the limit, except the first. */
function cut(projects: readonly Project[], places: ReadonlyMap<string, number>) {
  const slices: Project[][] = []
  let [inSlice, looked] = [0, 0]
  for (const project of projects) {
    const more = places.get(project.id) ?? 0
    if (more === 0) continue
    looked += more
    if (looked > MAX_PLACES && slices.length > 0) return { slices, partial: true }
    if (slices.length === 0 || inSlice + more > SLICE) {
      slices.push([])
      inSlice = 0
    }
    inSlice += more
    slices.at(-1)!.push(project)
  }
  return { slices, partial: false }
}

async function findIn(
  { db, caller }: Ctx,
  projects: readonly Project[],
  text: string,
  typed: string,
): Promise<FinderResult['found']> {
  const rows = await db
    .selectFrom('env_var')
    .select(['project_id', 'key'])
    .distinct()
    .where('project_id', 'in', jsonArrayValues(db, JSON.stringify(projects.map(({ id }) => id))))
    .where(sql<boolean>`(lower(env_var.key) like ${containsPattern(text)} escape '!' or env_var.id = ${typed})`)
    .where(visibleTo(caller))
    .orderBy('key')
    .limit(ENOUGH)
    .execute()
  const byProject = Map.groupBy(rows, (row) => row.project_id)
  return projects.flatMap((project) => (byProject.get(project.id) ?? []).map(({ key }) => ({ name: key, project })))
}
