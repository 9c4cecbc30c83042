/** The projects that the consent page offers: first the ticked ones, then others by name, up to a limit. */
import { sql } from 'kysely'
import { chunks } from '../../platform/db/chunks.ts'
import { containing } from '../../platform/db/db.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { PersonCtx } from '../../platform/pages/screen.ts'

/** What the person ticked and typed on the page. */
export type Chosen = {
  selection: 'all' | 'selected' | undefined
  projectIds: string[]
  find: string
  /** Whether the integration is installed on the account already. */
  renews: boolean
  fault?: string | undefined
}

/** How many projects a person can tick. */
export const MOST_PROJECTS = 1000
/** How many other projects are offered at once. A search finds the rest. */
export const OFFERED = 100

export type Offered = { id: string; name: string }
export type ShownProjects = {
  ticked: Offered[]
  others: Offered[]
  /** Whether there are more than are offered. */
  more: boolean
  /** Whether the account has no projects. */
  none: boolean
}

/** The projects to show for the ticked ones and the search of `chosen`. */
export async function shownProjects(ctx: PersonCtx, account: OwnAccount, chosen: Chosen): Promise<ShownProjects> {
  const ticked = await chosenProjects(ctx, account, chosen.projectIds)
  const tickedIds = new Set(ticked.map((project) => project.id))
  // Ticked projects may be found again, so this reads as many more. One more on top tells whether there are further ones.
  const projects = await projectsOf(ctx, account)
    .where(sql<boolean>`name like ${containing(chosen.find.trim())} escape '!'`)
    .orderBy('name')
    .limit(OFFERED + tickedIds.size + 1)
    .execute()
  const others = projects.filter((project) => !tickedIds.has(project.id))
  const none = projects.length === 0 && tickedIds.size === 0 && chosen.find === ''
  return { ticked, others: others.slice(0, OFFERED), more: others.length > OFFERED, none }
}

/** The projects of the account that have one of these ids, by name. */
export async function chosenProjects(ctx: PersonCtx, account: OwnAccount, ids: readonly string[]): Promise<Offered[]> {
  const projects: Offered[] = []
  for (const slice of chunks([...ids]))
    projects.push(...(await projectsOf(ctx, account).where('id', 'in', slice).execute()))
  return projects.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function projectsOf(ctx: PersonCtx, account: OwnAccount) {
  return ctx.db.selectFrom('project').select(['id', 'name']).where('account_id', '=', account.id)
}
