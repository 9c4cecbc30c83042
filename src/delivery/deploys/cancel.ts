import type { Ctx, Params } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import {
  type DeploymentWithProject,
  findDeployment,
  readDeploymentReply,
} from '../../projects/deployments/deployments.ts'
import { settle } from '../../projects/deployments/register.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import { nextState } from './states.ts'

/** Returns the deployment of the path with its project. Refuses: not_found 404. */
export async function findToCancel(ctx: Ctx, params: Params): Promise<DeploymentWithProject> {
  const deployment = await findDeployment(ctx, params)
  return { deployment, project: await findProject(ctx, { projectId: deployment.project_id }) }
}

/** Cancels a deployment. Later updates of a build system are refused. Refuses: deployment_ended 409. docs/deploying-sites.md: States. */
export async function cancelDeployment(ctx: Ctx, { project, deployment }: DeploymentWithProject): Promise<Deployment> {
  const next = nextState(deployment.ready_state, 'canceled', ctx.now)
  if (next === undefined) refuse('deployment_ended', `The deployment is ${deployment.ready_state} and stays so.`)
  const row = await ctx.db
    .updateTable('deployment')
    .set(next)
    .where('id', '=', deployment.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return readDeploymentReply(ctx, await settle(ctx, project, ctx.account, row))
}
