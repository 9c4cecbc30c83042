import type { OperatorCtx, ProjectHooks } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { deleteBuilds } from './builds.ts'
import { releaseOutputsOfProject } from './outputs.ts'
import { deleteUsage } from './usage.ts'

export const deploymentsOnProject: ProjectHooks = {
  remove: (ctx, { id }) => removeDeployments(ctx, id),
  async move(ctx, { id, deployments_json }, to) {
    if (deployments_json !== null) await moveDeployments(ctx, id, to.id)
  },
}

/** Moves the deployments of a project to another account, in the transaction of the project. */
async function moveDeployments(ctx: Pick<OperatorCtx, 'db'>, projectId: string, accountId: string) {
  for (const table of ['deployment', 'alias', 'runtime_log'] as const) {
    await ctx.db.updateTable(table).set({ account_id: accountId }).where('project_id', '=', projectId).execute()
  }
  await refreshDeploymentSummary(ctx, projectId)
}

async function removeDeployments(ctx: Pick<OperatorCtx, 'db'>, projectId: string): Promise<void> {
  const requests = await ctx.db
    .deleteFrom('alias_request')
    .where('project_id', '=', projectId)
    .returning('id')
    .execute()
  for (const { id } of requests) await ctx.db.deleteFrom('alias_mapping').where('request_id', '=', id).execute()
  await releaseOutputsOfProject(ctx, projectId)
  for (const table of ['alias', 'deployment_meta', 'cron_job', 'cron_run'] as const) {
    await ctx.db.deleteFrom(table).where('project_id', '=', projectId).execute()
  }
  const deleted = await ctx.db.deleteFrom('deployment').where('project_id', '=', projectId).returning('id').execute()
  const ids = deleted.map(({ id }) => id)
  // By ids: with a subquery, PostgreSQL scans all usage.
  await deleteUsage(ctx, ids)
  await deleteBuilds(ctx, ids)
}
