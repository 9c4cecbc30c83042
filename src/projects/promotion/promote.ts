/** Promote and rollback; domains follow later. docs/deployments.md: Promote and rollback in the background. */
import { sql } from 'kysely'
import type { Ctx } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { withSettings } from '../../model/project.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { DeploymentWithProject } from '../deployments/deployments.ts'
import { showDeploymentEvent } from '../deployments/register.ts'
import { autoAssigns, deleteRequests, setProductionDeployment, supersedeRequests } from '../serving/production.ts'

/** Makes a deployment serve production and undoes the switch of a rollback. Refuses: project_paused 409, deployment_not_ready 409. */
export async function requestPromote(ctx: Ctx, { project, deployment }: DeploymentWithProject): Promise<void> {
  mustServe(project, deployment)
  const settings_json = withSettings(project, { autoAssignCustomDomains: true })
  const restored = project.auto_assign_off_at === null ? {} : { settings_json }
  await request(ctx, project, deployment, 'promote', { ...restored, auto_assign_off_at: null })
  ctx.emit('deployment.promoted', showDeploymentEvent(ctx, deployment), project.id)
}

/**
 * Makes a former production deployment serve again. New deployments stay STAGED until the next promote; otherwise the next build
 * would undo the rollback. Refuses: project_paused 409, deployment_not_ready 409, deployment_never_live 409.
 */
export async function requestRollback(ctx: Ctx, { project, deployment }: DeploymentWithProject): Promise<void> {
  mustServe(project, deployment)
  if (deployment.promoted_at === null) refuse('deployment_never_live')
  const settings_json = withSettings(project, { autoAssignCustomDomains: false })
  const switched = autoAssigns(project) ? { settings_json, auto_assign_off_at: ctx.now } : {}
  await request(ctx, project, deployment, 'rollback', switched)
}

function mustServe(project: Row<'project'>, deployment: Row<'deployment'>): void {
  if (project.paused_at !== null) refuse('project_paused')
  if (deployment.ready_state !== 'READY') {
    refuse(
      'deployment_not_ready',
      `The deployment is ${deployment.ready_state}; only one that is READY can serve production.`,
    )
  }
}

async function request(
  ctx: Ctx,
  project: Row<'project'>,
  deployment: Row<'deployment'>,
  type: 'promote' | 'rollback',
  columns: Partial<Row<'project'>>,
): Promise<void> {
  await supersedeRequests(ctx, project.id)
  await deleteRequests(ctx, project.id, { type })
  const id = newId('areq')
  await ctx.db
    .insertInto('alias_request')
    .values({
      id,
      project_id: project.id,
      type,
      from_deployment_id: project.live_deployment_id,
      to_deployment_id: deployment.id,
      status: 'pending',
      requested_stamp: ctx.stamp,
      advanced_stamp: ctx.stamp,
      finished_at: null,
    })
    .execute()
  await listDomains(ctx, project, id)
  await setProductionDeployment(ctx, project, deployment, columns)
  await refreshDeploymentSummary(ctx, project.id)
}

/** Inserts every verified production domain in one statement, oldest first. Unverified ones serve nothing. */
async function listDomains(ctx: Ctx, project: Row<'project'>, requestId: string): Promise<void> {
  await ctx.db
    .insertInto('alias_mapping')
    .columns(['request_id', 'place', 'name', 'status'])
    .expression(
      ctx.db
        .selectFrom('project_domain')
        .select([
          sql<string>`cast(${requestId} as text)`.as('request_id'),
          sql<number>`cast(${ctx.stamp} as bigint) + row_number() over (order by created_stamp)`.as('place'),
          'name',
          sql<'pending'>`cast('pending' as text)`.as('status'),
        ])
        .where('account_id', '=', project.account_id)
        .where('project_id', '=', project.id)
        .where('verified_at', 'is not', null)
        .where('git_branch', 'is', null)
        .where('custom_environment_id', 'is', null)
        .where('redirect', 'is', null),
    )
    .execute()
}
