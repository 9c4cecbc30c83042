import type { OperatorCtx, ProjectHooks } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { unlinkAllProjects } from './links.ts'

/** Shared variables belong to the account, so a deleted or moved project loses them. */
export const sharedEnvOnProject: ProjectHooks = {
  remove: leaveAll,
  forget: leaveAll,
}

async function leaveAll(ctx: Pick<OperatorCtx, 'db'>, project: Row<'project'>): Promise<void> {
  const rows = await ctx.db
    .selectFrom('shared_env_var')
    .innerJoin('shared_env_link', (join) =>
      join
        .onRef('shared_env_link.account_id', '=', 'shared_env_var.account_id')
        .onRef('shared_env_link.variable_id', '=', 'shared_env_var.id'),
    )
    .selectAll('shared_env_var')
    .where('shared_env_link.project_id', '=', project.id)
    .execute()
  for (const row of rows) await unlinkAllProjects(ctx, row, [project.id])
}
