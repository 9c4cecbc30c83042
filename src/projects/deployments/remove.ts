/** Removes one deployment, for `vercel remove` and the SDK. docs/deployments.md. */

import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { changeProject, findProject } from '../../model/project.ts'
import { notInTransferUnlocked } from '../../platform/access/guards.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { followBranch, pointProductionAddress } from '../serving/addresses.ts'
import { assignDomains, assignMatchingDomains, newestPreview, PRODUCTION_TARGET } from '../serving/domain-assignment.ts'
import { deleteRequests } from '../serving/production.ts'
import { deleteBuilds } from './builds.ts'
import { findDeployment } from './deployments.ts'
import { deleteMeta } from './meta.ts'
import { releaseOutputs } from './outputs.ts'
import { showDeploymentEvent } from './register.ts'
import { deleteUsage } from './usage.ts'

export const DeleteDeploymentQuery = Type.Object({
  url: Type.Optional(
    Type.String({
      maxLength: 300,
      description: 'its own host name, or one that points to it: then the id is ignored',
    }),
  ),
})
export const DeletedDeployment = Type.Object({ uid: Type.String(), state: OneOf('DELETED') })

/**
 * Removes a deployment and frees its host name. Its domains are unassigned, except those of a branch or custom environment, which
 * move to its newest READY deployment. Production stays without a deployment until the next one or a promote; a promote in
 * progress is undone. Refuses: not_found 404, in_transfer 409.
 */
export async function deleteDeployment(
  ctx: Ctx,
  _: undefined,
  input: Input<Static<typeof DeleteDeploymentQuery>>,
): Promise<Static<typeof DeletedDeployment> & { id: string }> {
  const { params, query } = input
  const deployment = await findDeployment(ctx, query.url === undefined ? params : { idOrUrl: query.url })
  const project = await findProject(ctx, { projectId: deployment.project_id })
  await notInTransferUnlocked(ctx, project, input)
  const { id } = deployment
  const served = project.live_deployment_id === id
  const before = served ? await servedBefore(ctx, project.id, id) : undefined
  const ofPreviews = await domainsOfPreviews(ctx, id)
  await ctx.db.deleteFrom('alias').where('deployment_id', '=', id).where('address_of', 'is', null).execute()
  await deleteRequests(ctx, project.id, { toDeploymentId: id })
  await deleteMeta(ctx, deployment)
  await deleteUsage(ctx, [id])
  await deleteBuilds(ctx, [id])
  await releaseOutputs(ctx, [deployment])
  await ctx.db.deleteFrom('deployment').where('id', '=', id).execute()
  if (before !== undefined) {
    await assignMatchingDomains(ctx, before, PRODUCTION_TARGET)
    await pointProductionAddress(ctx, project, before)
  }
  await followBranch(ctx, project, deployment.git_branch)
  // The production address if this deployment served it.
  await ctx.db.deleteFrom('alias').where('deployment_id', '=', id).execute()
  for (const domains of Map.groupBy(
    ofPreviews,
    (deployment) => deployment.custom_environment_id ?? deployment.git_branch,
  ).values()) {
    const newest = await newestPreview(ctx, project.id, domains[0]!)
    if (newest !== undefined) await assignDomains(ctx, domains, newest)
  }
  ctx.emit('deployment.cleanup', showDeploymentEvent(ctx, deployment), project.id)
  // The project row is written last everywhere, which avoids deadlocks.
  await changeProject(ctx, project, served ? { live_deployment_id: before?.id ?? null } : {})
  await refreshDeploymentSummary(ctx, project.id)
  return { id, uid: id, state: 'DELETED' }
}

/** The deployment before an unfinished promote or rollback: most domains still point to it. */
function servedBefore(ctx: Ctx, projectId: string, deploymentId: string) {
  return ctx.db
    .selectFrom('alias_request')
    .innerJoin('deployment', 'deployment.id', 'alias_request.from_deployment_id')
    .select(['deployment.id', 'deployment.project_id', 'deployment.target', 'deployment.output_id'])
    .where('alias_request.project_id', '=', projectId)
    .where('alias_request.finished_at', 'is', null)
    .where('alias_request.to_deployment_id', '=', deploymentId)
    .where('deployment.id', '!=', deploymentId)
    .executeTakeFirst()
}

function domainsOfPreviews(ctx: Ctx, deploymentId: string): Promise<Row<'project_domain'>[]> {
  return ctx.db
    .selectFrom('alias')
    .innerJoin('project_domain', (join) =>
      join.onRef('project_domain.account_id', '=', 'alias.account_id').onRef('project_domain.name', '=', 'alias.name'),
    )
    .selectAll('project_domain')
    .where('alias.deployment_id', '=', deploymentId)
    .where((eb) =>
      eb.or([
        eb('project_domain.git_branch', 'is not', null),
        eb('project_domain.custom_environment_id', 'is not', null),
      ]),
    )
    .execute()
}
