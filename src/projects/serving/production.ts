/** Which deployment serves: what a deployment that became READY takes over, and the one that serves production. */
import type { OperatorCtx } from '../../context.ts'
import type { Settings } from '../../model/project-settings.ts'
import type { Row } from '../../platform/db/schema.ts'
import { pointProductionAddress } from './addresses.ts'
import { assignMatchingDomains, isProductionTarget, newestPreview, PRODUCTION_TARGET } from './domain-assignment.ts'

type Project = Row<'project'>
type Deployment = Row<'deployment'>

/**
 * Gives a deployment that became READY the domains that are its to take. Production: all production domains, when
 * autoAssignCustomDomains is on, the project is not paused, and no newer deployment serves; else it stays STAGED. Preview:
 * the domains of its custom environment, or, in none, those of its branch.
 */
export async function assignReadyDeployment(ctx: OperatorCtx, project: Project, deployment: Deployment): Promise<void> {
  if (deployment.target === 'preview') {
    const { git_branch, custom_environment_id } = deployment
    const environment = { custom_environment_id, git_branch: custom_environment_id === null ? git_branch : null }
    if (isProductionTarget(environment)) return
    const newest = await newestPreview(ctx, project.id, environment)
    if (newest !== undefined) await assignMatchingDomains(ctx, newest, environment)
    return
  }
  if (project.paused_at !== null || !autoAssigns(project) || (await isOlderThanLive(ctx, project, deployment))) return
  await supersedeRequests(ctx, project.id)
  await assignMatchingDomains(ctx, deployment, PRODUCTION_TARGET)
  await setProductionDeployment(ctx, project, deployment, {})
}

function autoAssigns(project: Project): boolean {
  return (JSON.parse(project.settings_json) as Settings).autoAssignCustomDomains !== false
}

/** A slow build of an old commit does not put a newer one off line. */
async function isOlderThanLive(ctx: OperatorCtx, project: Project, deployment: Deployment): Promise<boolean> {
  if (project.live_deployment_id === null) return false
  const live = await ctx.db
    .selectFrom('deployment')
    .select('created_stamp')
    .where('id', '=', project.live_deployment_id)
    .executeTakeFirst()
  return live !== undefined && live.created_stamp > deployment.created_stamp
}

/** Makes a deployment the one that serves production; the address of production and new production domains lead to it from now on. */
export async function setProductionDeployment(
  ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now' | 'stamp'>,
  project: Project,
  deployment: Deployment,
  columns: Partial<Project>,
): Promise<void> {
  await pointProductionAddress(ctx, project, deployment)
  await ctx.db.updateTable('deployment').set({ promoted_at: ctx.now }).where('id', '=', deployment.id).execute()
  await ctx.db
    .updateTable('project')
    .set({ ...columns, live_deployment_id: deployment.id, updated_stamp: ctx.stamp })
    .where('account_id', '=', project.account_id)
    .where('id', '=', project.id)
    .execute()
}

/** Ends open requests of a project: what comes after them says where its domains lead. */
export async function supersedeRequests(ctx: Pick<OperatorCtx, 'db' | 'now'>, projectId: string): Promise<void> {
  const ended = await ctx.db
    .updateTable('alias_request')
    .set({ status: 'skipped', finished_at: ctx.now })
    .where('project_id', '=', projectId)
    .where('finished_at', 'is', null)
    .returning('id')
    .execute()
  for (const { id } of ended) {
    await ctx.db
      .updateTable('alias_mapping')
      .set({ status: 'failed' })
      .where('request_id', '=', id)
      .where('status', 'in', ['pending', 'in-progress'])
      .execute()
  }
}

/** Forgets those of a kind, of which only the last is ever asked for, or those to a deployment that goes. */
export async function deleteRequests(
  ctx: Pick<OperatorCtx, 'db'>,
  projectId: string,
  which: { type: 'promote' | 'rollback' } | { toDeploymentId: string },
): Promise<void> {
  const [column, value] = 'type' in which ? ['type', which.type] : ['to_deployment_id', which.toDeploymentId]
  const rows = await ctx.db
    .deleteFrom('alias_request')
    .where('project_id', '=', projectId)
    .where(column as 'type' | 'to_deployment_id', '=', value)
    .returning('id')
    .execute()
  for (const { id } of rows) await ctx.db.deleteFrom('alias_mapping').where('request_id', '=', id).execute()
}
