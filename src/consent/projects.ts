/** The projects of an account as the consent page offers them: those that are ticked, and then by name, up to a bound. */
import { sql } from 'kysely'
import { slices } from '../db/chunks.ts'
import type { OwnAccount } from '../pages/acting.ts'
import type { PersonCtx } from '../pages/screen.ts'
import type { Chosen } from './consent-page.ts'

/** As many projects as an installation may be given one by one. */
export const MOST_PROJECTS = 1000
/** As many as are offered at once; a search finds the others. */
export const OFFERED = 100

export type Offered = { id: string; name: string }
export type ShownProjects = {
  ticked: Offered[]
  others: Offered[]
  /** There are more than are offered. */
  more: boolean
  /** The account has none. */
  none: boolean
}

/** What the page offers for what is ticked and searched. */
export async function shownProjects(ctx: PersonCtx, account: OwnAccount, chosen: Chosen): Promise<ShownProjects> {
  const ticked = await chosenProjects(ctx, account, chosen.projectIds)
  const kept = new Set(ticked.map((project) => project.id))
  // One more than could be shown if all that are ticked came first.
  const found = await projectsOf(ctx, account)
    .where(sql<boolean>`name like ${containing(chosen.find)} escape '!'`)
    .orderBy('name')
    .limit(OFFERED + kept.size + 1)
    .execute()
  const others = found.filter((project) => !kept.has(project.id))
  const none = found.length === 0 && kept.size === 0 && chosen.find === ''
  return { ticked, others: others.slice(0, OFFERED), more: others.length > OFFERED, none }
}

/** Those of the ids that are projects of the account, by name. */
export async function chosenProjects(ctx: PersonCtx, account: OwnAccount, ids: readonly string[]): Promise<Offered[]> {
  const found: Offered[] = []
  for (const slice of slices([...ids]))
    found.push(...(await projectsOf(ctx, account).where('id', 'in', slice).execute()))
  return found.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function projectsOf(ctx: PersonCtx, account: OwnAccount) {
  return ctx.db.selectFrom('project').select(['id', 'name']).where('account_id', '=', account.id)
}

/** Names are lower case, so a lower-case pattern makes the search blind to case on both engines. */
function containing(search: string): string {
  return `%${search.trim().toLowerCase().replaceAll(/[!%_]/g, '!$&')}%`
}
