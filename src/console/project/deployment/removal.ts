/** Removing a deployment, after a page that says what goes with it. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import { html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import type { DeploymentAliases } from '../../../projects/aliases/schema.ts'
import { action } from '../../action.ts'
import { deploymentPath, findAccountOfPath, projectPage, projectPath } from '../../frame.ts'
import { titleOf } from '../commit.ts'
import { mooring, sheet } from '../confirm.ts'
import { DEPLOYMENT_SHOWN, deploymentPage } from '../deployments.ts'
import { DEPLOYMENT_READ, mustBeOfProject, readDeployment } from './of-project.ts'

const PATH = '/console/t/:slug/projects/:name/deployments/:id/remove'

export const deploymentRemovalScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'confirm-remove-deployment',
    calls: [...DEPLOYMENT_READ, 'listDeploymentAliases'],
    run: askRemoval,
  }),
  action({
    path: PATH,
    name: 'console-remove-deployment',
    calls: 'deleteDeployment',
    renderCalls: DEPLOYMENT_SHOWN,
    before: mustBeOfProject,
    request: ({ params }) => ({ params: { idOrUrl: params.id! } }),
    next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!, 'deployments'),
    renderErrors: deploymentPage,
  }),
]

async function askRemoval(ctx: ConsoleCtx, { params, url }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const { project, deployment } = await readDeployment(ctx, account, params)
  const { aliases } = await ctx.callRoute<Static<typeof DeploymentAliases>>('listDeploymentAliases', {
    account,
    params: { id: deployment.id },
  })
  const isLive = project.targets?.production?.id === deployment.id
  const back = deploymentPath(account, project.name, deployment.id)
  const title = 'Remove deployment?'
  return projectPage(ctx, account, project.name, 'deployments', {
    title,
    within: [[titleOf(deployment), back]],
    body: sheet(ctx, {
      title,
      about: html`Its URL, its build log and its figures go with it. You cannot undo this.`,
      moves: html`<div class="berths"><div>${mooring(deployment, isLive ? 'Live now' : 'Not live', ctx.now, { isLive })}
${aliases.length > 0 && html`<ul class="lines">${aliases.map(({ alias }) => html`<li><span class="medium any">${alias}</span></li>`)}</ul>`}</div></div>`,
      follows: isLive
        ? note('bad', 'It serves production. Visitors get 404 until you promote another deployment or deploy again.')
        : note('warn', 'Domains of a branch or an environment move to its newest ready deployment.'),
      action: url,
      back,
      button: html`<button class="btn danger">Remove deployment</button>`,
    }),
  })
}
