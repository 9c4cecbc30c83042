/** The selected projects of an installation. docs/spec/decisions.md: Accounts, actors, permissions. */

import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import type { Installation } from '../../model/installation.ts'
import { projectFilter } from '../../platform/access/guards.ts'
import { pauseWhenBusy } from '../../platform/base/event-loop.ts'
import type { Queries } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

type Selecting = Pick<Installation, 'id' | 'project_selection'>

/** Most selected projects. Each request of the installation and each event about it has all of them. */
export const MAX_SELECTED = 10_000
/** Selected projects of an installation in a list; a longer selection is left out. */
export const MAX_LISTED_PROJECTS = 1000

/** Returns an installation for its events: its id and selected projects. */
export async function selectionPayload(db: Queries, { id, project_selection }: Selecting) {
  return { id, projectSelection: project_selection, projects: await readSelection(db, id) }
}

/** Returns the ids of the selected projects, sorted, at most `limit`. Empty also for an installation with all projects. */
export async function readSelection(db: Queries, installationId: string, limit?: number): Promise<string[]> {
  const selected = db
    .selectFrom('configuration_project')
    .select('project_id')
    .where('configuration_id', '=', installationId)
  const rows = await (limit === undefined ? selected : selected.limit(limit)).execute()
  return rows.map((row) => row.project_id).sort()
}

/**
 * Returns the selected projects that the caller sees, by installation, without selections of more than `max`. A project-limited token gets no ids of
 * other projects.
 */
export async function readVisibleSelections(
  ctx: Ctx,
  installations: readonly Selecting[],
  max = MAX_SELECTED,
): Promise<Map<string, string[]>> {
  const selections = new Map<string, string[]>()
  const canSee = projectFilter(ctx.caller)
  for (const { id, project_selection } of installations) {
    if (project_selection === 'all') continue
    const rows = await ctx.db
      .selectFrom('configuration_project')
      .select('project_id')
      .where('configuration_id', '=', id)
      .orderBy('project_id')
      .limit(max + 1)
      .execute()
    const ids = rows.map(({ project_id }) => project_id)
    if (ids.length <= max) selections.set(id, ids.filter(canSee))
    await pauseWhenBusy()
  }
  return selections
}

/** Adds a project that an installation creates to its selection, so that the installation can see it. Refuses: budget_used_up 409. */
export async function addToSelection({ db, caller }: Ctx, projectId: string): Promise<void> {
  if (caller.installationId === null || caller.projectIds === null) return
  await addSelected(db, caller.installationId, projectId)
}

/** Adds a project to a selection. Refuses: budget_used_up 409. */
export async function addSelected(db: Queries, installationId: string, projectId: string): Promise<void> {
  const joined = { configuration_id: installationId, project_id: projectId }
  await db.insertInto('configuration_project').values(joined).execute()
  const behind = db
    .selectFrom('configuration_project')
    .select('project_id')
    .where('configuration_id', '=', installationId)
    .orderBy('project_id')
  mustBeSelectable(await behind.offset(sql.lit(MAX_SELECTED)).limit(sql.lit(1)).executeTakeFirst())
}

/** Selects all projects of an account but one. Refuses: budget_used_up 409. */
export async function selectAllBut(
  db: Queries,
  installationId: string,
  project: { id: string; account_id: string },
): Promise<void> {
  const others = db
    .selectFrom('project')
    .where('project.account_id', '=', project.account_id)
    .where('project.id', '!=', project.id)
  const behind = others.select('project.id').offset(sql.lit(MAX_SELECTED)).limit(sql.lit(1))
  mustBeSelectable(await behind.executeTakeFirst())
  await db
    .insertInto('configuration_project')
    .columns(['configuration_id', 'project_id'])
    .expression((eb) =>
      others.select([eb.cast<string>(eb.val(installationId), 'text').as('configuration_id'), 'project.id']),
    )
    .execute()
}

/** `oneMore`: a project behind the greatest selection. */
function mustBeSelectable(oneMore: unknown): void {
  if (oneMore === undefined) return
  const message = `An installation can have at most ${MAX_SELECTED.toLocaleString('en')} selected projects. Let it see all projects, or fewer.`
  refuse('budget_used_up', message, { name: 'selected projects' })
}

/** Removes a deleted project from all selections and returns the installations that had it. An empty selection stays and sees no project. */
export async function removeFromSelections({ db }: Pick<Ctx, 'db'>, projectId: string): Promise<string[]> {
  const rows = await db
    .deleteFrom('configuration_project')
    .where('project_id', '=', projectId)
    .returning('configuration_id')
    .execute()
  return rows.map((row) => row.configuration_id)
}
