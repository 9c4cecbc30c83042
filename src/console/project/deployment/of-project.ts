import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import { refuse } from '../../../platform/refusals/refusal.ts'
import type { Deployment } from '../../../projects/deployments/schema.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { unlessGone } from '../../frame.ts'

/** Routes that `readDeployment` calls. */
export const DEPLOYMENT_READ = ['getProject', 'getDeployment']

/** Reads the project and the deployment of a path. Refuses: not_found 404, also for a deployment of another project. */
export async function readDeployment(
  ctx: ConsoleCtx,
  account: OwnAccount,
  { name, id }: Record<string, string>,
): Promise<{ project: Project; deployment: Deployment }> {
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: name! } })
  const deployment = await ctx.callRoute<Deployment>('getDeployment', { account, params: { idOrUrl: id! } })
  if (deployment.projectId !== project.id) refuse('not_found', 'The project has no such deployment.')
  return { project, deployment }
}

/** Refuses: not_found 404 for a deployment of another project. One that is gone is left to the route, which answers a repeated request as the first. */
export async function mustBeOfProject(
  ctx: ConsoleCtx,
  account: OwnAccount,
  params: Record<string, string>,
): Promise<void> {
  const deployment = await unlessGone(
    ctx.callRoute<Deployment>('getDeployment', { account, params: { idOrUrl: params.id! } }),
  )
  if (deployment) await readDeployment(ctx, account, params)
}
