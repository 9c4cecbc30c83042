/** The projects that the consent page offers: first the ticked ones, then others by name, up to a limit. */
import { sql } from 'kysely'
import { chunks } from '../../platform/db/chunks.ts'
import { containsPattern } from '../../platform/db/db.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { UserPageCtx } from '../../platform/pages/screen.ts'

/** What the person ticked and typed on the page. */
export type ProjectSelection = {
  selection: 'all' | 'selected' | undefined
  projectIds: string[]
  find: string
  /** Whether the integration is installed on the account already. */
  renews: boolean
  fault?: string | undefined
}

/** How many projects a person can tick. */
export const MAX_SELECTABLE_PROJECTS = 1000
/** How many other projects are offered at once. A search finds the rest. */
export const PROJECTS_PER_PAGE = 100

export type ProjectChoice = { id: string; name: string }
export type ProjectChoices = {
  ticked: ProjectChoice[]
  others: ProjectChoice[]
  /** Whether there are more than are offered. */
  more: boolean
  /** Whether the account has no projects. */
  none: boolean
}

/** The projects to show for the ticked ones and the search of `chosen`. */
export async function readProjectChoices(
  ctx: UserPageCtx,
  account: OwnAccount,
  chosen: ProjectSelection,
): Promise<ProjectChoices> {
  const ticked = await readChosenProjects(ctx, account, chosen.projectIds)
  const tickedIds = new Set(ticked.map((project) => project.id))
  // Ticked projects may be found again, so this reads as many more. One more on top tells whether there are further ones.
  const projects = await projectsOf(ctx, account)
    .where(sql<boolean>`name like ${containsPattern(chosen.find.trim())} escape '!'`)
    .orderBy('name')
    .limit(PROJECTS_PER_PAGE + tickedIds.size + 1)
    .execute()
  const others = projects.filter((project) => !tickedIds.has(project.id))
  const none = projects.length === 0 && tickedIds.size === 0 && chosen.find === ''
  return { ticked, others: others.slice(0, PROJECTS_PER_PAGE), more: others.length > PROJECTS_PER_PAGE, none }
}

/** The projects of the account that have one of these ids, by name. */
export async function readChosenProjects(
  ctx: UserPageCtx,
  account: OwnAccount,
  ids: readonly string[],
): Promise<ProjectChoice[]> {
  const projects: ProjectChoice[] = []
  for (const slice of chunks([...ids]))
    projects.push(...(await projectsOf(ctx, account).where('id', 'in', slice).execute()))
  return projects.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function projectsOf(ctx: UserPageCtx, account: OwnAccount) {
  return ctx.db.selectFrom('project').select(['id', 'name']).where('account_id', '=', account.id)
}
