/** The production deployment, and the domains of a deployment that became READY. */
import type { OperatorCtx } from '../../context.ts'
import { changeProject } from '../../model/project.ts'
import type { Settings } from '../../model/project-settings.ts'
import type { Row } from '../../platform/db/schema.ts'
import { pointProductionAddress } from './addresses.ts'
import { assignMatchingDomains, isProductionTarget, newestPreview, PRODUCTION_TARGET } from './domain-assignment.ts'
import { deleteMappings, failMappings } from './mappings.ts'

type Project = Row<'project'>
type Deployment = Row<'deployment'>

/**
 * Assigns the domains of a deployment that became READY. Production: all production domains, if autoAssignCustomDomains is on,
 * the project is not paused, and no newer deployment serves; otherwise it stays STAGED. Preview: the domains of its custom
 * environment, or else of its branch.
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

/** Returns whether new production deployments get the domains of a project. */
export function autoAssigns(project: Project): boolean {
  return (JSON.parse(project.settings_json) as Settings).autoAssignCustomDomains !== false
}

/** A slow build of an old commit must not replace a newer one. */
async function isOlderThanLive(ctx: OperatorCtx, project: Project, deployment: Deployment): Promise<boolean> {
  if (project.live_deployment_id === null) return false
  const live = await ctx.db
    .selectFrom('deployment')
    .select('created_stamp')
    .where('id', '=', project.live_deployment_id)
    .executeTakeFirst()
  return live !== undefined && live.created_stamp > deployment.created_stamp
}

/** Makes a deployment serve production. The production address and new production domains point to it from now on. */
export async function setProductionDeployment(
  ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now' | 'stamp'>,
  project: Project,
  deployment: Deployment,
  columns: Partial<Project>,
): Promise<void> {
  await pointProductionAddress(ctx, project, deployment)
  await ctx.db.updateTable('deployment').set({ promoted_at: ctx.now }).where('id', '=', deployment.id).execute()
  await changeProject(ctx, project, { ...columns, live_deployment_id: deployment.id })
}

/** Closes open requests of a project: a later change decides the targets of its domains. */
export async function supersedeRequests(ctx: Pick<OperatorCtx, 'db' | 'now'>, projectId: string): Promise<void> {
  const ended = await ctx.db
    .updateTable('alias_request')
    .set({ status: 'skipped', finished_at: ctx.now })
    .where('project_id', '=', projectId)
    .where('finished_at', 'is', null)
    .returning('id')
    .execute()
  for (const { id } of ended) await failMappings(ctx.db, id)
}

/** Deletes requests of a kind, since only the last is needed, or those to a deleted deployment. */
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
  for (const { id } of rows) await deleteMappings(ctx.db, id)
}
