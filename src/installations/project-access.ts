/** Which projects an installation sees: all, or a selection that the people of the account change. docs/spec/wire.md 6; docs/integrations.md: The projects of an installation. */
import type { Ctx, Input, Params } from '../context.ts'
import type { Row } from '../db/schema.ts'
import type { ProjectAccess } from '../integrations/schema.ts'
import { findProject } from '../model/project.ts'
import { type FoundInstallation, findInstallation } from './installations.ts'

export type WithProject = FoundInstallation & { project: Row<'project'> }

/** An installation on the account, with a project of it. Refuses: not_found 404. */
export async function findProjectAccess(ctx: Ctx, params: Params): Promise<WithProject> {
  const configuration = await findInstallation(ctx, params)
  return { ...configuration, project: await findProject(ctx, params) }
}

/** Says whether the installation sees the project. */
export async function showProjectAccess(ctx: Ctx, subject: WithProject): Promise<ProjectAccess> {
  return { allowed: await sees(ctx, subject) }
}

/**
 * Lets an installation see a project, or no longer. One that saw all sees, from then on, all the others that there are now.
 * Saying what is so already changes nothing and tells nothing.
 */
export async function setProjectAccess(
  ctx: Ctx,
  subject: WithProject,
  { body }: Input<unknown, ProjectAccess>,
): Promise<ProjectAccess> {
  if ((await sees(ctx, subject)) === body.allowed) return { allowed: body.allowed }
  const { id, project } = subject
  if (body.allowed) {
    await ctx.db.insertInto('configuration_project').values({ configuration_id: id, project_id: project.id }).execute()
  } else if (subject.project_selection === 'all') await selectAllBut(ctx, subject)
  else {
    await ctx.db
      .deleteFrom('configuration_project')
      .where('configuration_id', '=', id)
      .where('project_id', '=', project.id)
      .execute()
  }
  const columns = { project_selection: 'selected', updated_at: ctx.now } as const
  await ctx.db.updateTable('configuration').set(columns).where('id', '=', id).execute()
  const selected = await ctx.db
    .selectFrom('configuration_project')
    .select('project_id')
    .where('configuration_id', '=', id)
    .orderBy('project_id')
    .execute()
  const projects = selected.map(({ project_id }) => project_id)
  ctx.emit(
    'integration-configuration.permission-upgraded',
    {
      configuration: { id, projectSelection: 'selected', projects },
      projects: body.allowed ? { added: [project.id], removed: [] } : { added: [], removed: [project.id] },
    },
    { installationId: id },
  )
  return { allowed: body.allowed }
}

async function sees(ctx: Ctx, { id, project, project_selection }: WithProject): Promise<boolean> {
  if (project_selection === 'all') return true
  const row = await ctx.db
    .selectFrom('configuration_project')
    .select('project_id')
    .where('configuration_id', '=', id)
    .where('project_id', '=', project.id)
    .executeTakeFirst()
  return row !== undefined
}

async function selectAllBut(ctx: Ctx, { id, project }: WithProject): Promise<void> {
  await ctx.db
    .insertInto('configuration_project')
    .columns(['configuration_id', 'project_id'])
    .expression((eb) =>
      eb
        .selectFrom('project')
        .select([eb.cast<string>(eb.val(id), 'text').as('configuration_id'), 'project.id'])
        .where('project.account_id', '=', project.account_id)
        .where('project.id', '!=', project.id),
    )
    .execute()
}
