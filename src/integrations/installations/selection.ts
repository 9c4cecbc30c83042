/** The selected projects of an installation. docs/spec/decisions.md: Accounts, actors, permissions. */

import type { Ctx } from '../../context.ts'
import type { Installation } from '../../model/installation.ts'
import { canSeeProject } from '../../platform/access/guards.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'

type Selecting = Pick<Installation, 'id' | 'project_selection'>

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

/** Returns the selected projects that the caller sees, by installation. A project-limited token gets no ids of other projects. */
export async function readVisibleSelections(
  ctx: Ctx,
  installations: readonly Selecting[],
): Promise<Map<string, string[]>> {
  const selections = new Map<string, string[]>()
  for (const { id, project_selection } of installations) if (project_selection === 'selected') selections.set(id, [])
  for (const slice of chunks([...selections.keys()])) {
    const rows = await ctx.db
      .selectFrom('configuration_project')
      .selectAll()
      .where('configuration_id', 'in', slice)
      .orderBy('project_id')
      .execute()
    for (const { configuration_id, project_id } of rows) {
      if (canSeeProject(ctx.caller, project_id)) selections.get(configuration_id)!.push(project_id)
    }
  }
  return selections
}

/** Adds a project that an installation creates to its selection, so that the installation can see it. */
export async function addToSelection({ db, caller }: Ctx, projectId: string): Promise<void> {
  if (caller.installationId === null || caller.projectIds === null) return
  const joined = { configuration_id: caller.installationId, project_id: projectId }
  await db.insertInto('configuration_project').values(joined).execute()
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
