/** The projects that an installation sees: all, or a selection that users change. docs/spec/wire.md 6. */
import type { Ctx, Input, Params } from '../../context.ts'
import { findInstallation, type InstallationWithIntegration } from '../../model/installation.ts'
import { findProject } from '../../model/project.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import type { Row } from '../../platform/db/schema.ts'
import type { ProjectAccess } from './schema.ts'
import { addSelected, readSelection, selectAllBut } from './selection.ts'

export type InstallationAndProject = InstallationWithIntegration & { project: Row<'project'> }

/** Finds an installation and a project of the account. Refuses: not_found 404. */
export async function findProjectAccess(ctx: Ctx, params: Params): Promise<InstallationAndProject> {
  return { ...(await findInstallation(ctx, params)), project: await findProject(ctx, params) }
}

/** Returns whether the installation sees the project. */
export async function showProjectAccess(ctx: Ctx, access: InstallationAndProject): Promise<ProjectAccess> {
  return { allowed: await sees(ctx, access) }
}

/**
 * Adds a project to an installation's selection or removes it. An installation with all projects gets a selection of the others. Emits an event only
 * for a change. Refuses: budget_used_up 409.
 */
export async function setProjectAccess(
  ctx: Ctx,
  access: InstallationAndProject,
  { body: { allowed } }: Input<unknown, ProjectAccess>,
): Promise<ProjectAccess> {
  if ((await sees(ctx, access)) === allowed) return { allowed }
  const { installation, project } = access
  const { id } = installation
  await lockInstallationWrites(ctx.db, [id])
  if (allowed) {
    await addSelected(ctx.db, id, project.id)
  } else if (installation.project_selection === 'all') {
    await selectAllBut(ctx.db, id, project)
  } else {
    await ctx.db
      .deleteFrom('configuration_project')
      .where('configuration_id', '=', id)
      .where('project_id', '=', project.id)
      .execute()
  }
  const columns = { project_selection: 'selected', updated_at: ctx.now } as const
  await ctx.db.updateTable('configuration').set(columns).where('id', '=', id).execute()
  ctx.emit(
    'integration-configuration.permission-upgraded',
    {
      configuration: { id, projectSelection: 'selected', projects: await readSelection(ctx.db, id) },
      projects: allowed ? { added: [project.id], removed: [] } : { added: [], removed: [project.id] },
    },
    { installationId: id },
  )
  return { allowed }
}

async function sees(ctx: Ctx, { installation, project }: InstallationAndProject): Promise<boolean> {
  if (installation.project_selection === 'all') return true
  const row = await ctx.db
    .selectFrom('configuration_project')
    .select('project_id')
    .where('configuration_id', '=', installation.id)
    .where('project_id', '=', project.id)
    .executeTakeFirst()
  return row !== undefined
}
