/** The projects on the consent page: the ticked ones first, then others by name, up to a limit. */
import { sql } from 'kysely'
import { chunks } from '../../platform/db/chunks.ts'
import { containsPattern } from '../../platform/db/db.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { UserPageCtx } from '../../platform/pages/screen.ts'

export type ProjectSelection = {
  selection: 'all' | 'selected' | undefined
  projectIds: string[]
  find: string
  /** Whether the account has this integration already. */
  renews: boolean
  fault?: string | undefined
}

export const MAX_SELECTABLE_PROJECTS = 1000
/** Other projects offered at once. A search finds the rest. */
export const PROJECTS_PER_PAGE = 100

export type ProjectChoice = { id: string; name: string }
export type ProjectChoices = {
  ticked: ProjectChoice[]
  others: ProjectChoice[]
  more: boolean
  none: boolean
}

/** Reads the projects to show for the ticked ones and the search of `chosen`. */
export async function readProjectChoices(
  ctx: UserPageCtx,
  account: OwnAccount,
  chosen: ProjectSelection,
): Promise<ProjectChoices> {
  const ticked = await readChosenProjects(ctx, account, chosen.projectIds)
  const tickedIds = new Set(ticked.map((project) => project.id))
  // The search may return ticked projects too, so read that many more, plus one to detect a further page.
  const projects = await projectsOf(ctx, account)
    .where(sql<boolean>`name like ${containsPattern(chosen.find.trim())} escape '!'`)
    .orderBy('name')
    .limit(PROJECTS_PER_PAGE + tickedIds.size + 1)
    .execute()
  const others = projects.filter((project) => !tickedIds.has(project.id))
  const none = projects.length === 0 && tickedIds.size === 0 && chosen.find === ''
  return { ticked, others: others.slice(0, PROJECTS_PER_PAGE), more: others.length > PROJECTS_PER_PAGE, none }
}

/** Reads the projects of the account with these ids, by name. */
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
