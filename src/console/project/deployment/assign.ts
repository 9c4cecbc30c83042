/** Assigning a domain to a deployment by hand, and unassigning one. docs/deployments.md: Assign an alias. */
import type { Static } from 'typebox'
import { html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { refuse } from '../../../platform/refusals/refusal.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { Alias, AssignedAlias } from '../../../projects/aliases/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../../action.ts'
import type { FormError } from '../../form-error.ts'
import { deploymentPath, findAccountOfPath, projectPage, unlessGone } from '../../frame.ts'
import { titleOf } from '../commit.ts'
import { DEPLOYMENT_SHOWN, DEPLOYMENTS_PATH, deploymentPage } from '../deployments.ts'
import { DEPLOYMENT_READ, mustBeOfProject, readDeployment } from './of-project.ts'

const PATH = `${DEPLOYMENTS_PATH}/:id/aliases`
/** The route validates, so the form keeps the submitted value. */
const Assignment = Type.Object({ alias: Type.Optional(Type.String()) })

export const aliasScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'showAssignment',
    calls: DEPLOYMENT_READ,
    run: (ctx, input) => showAssignment(ctx, input),
  }),
  action<typeof Assignment, Static<typeof AssignedAlias>>({
    path: PATH,
    name: 'consoleAssignAlias',
    form: Assignment,
    calls: 'assignAlias',
    renderCalls: DEPLOYMENT_READ,
    before: mustBeOfProject,
    fieldNames: { name: 'alias' },
    request: ({ params, form }) => ({ params: { id: params.id! }, body: { alias: form.alias?.trim() } }),
    next: toDeployment,
    renderErrors: showAssignment,
  }),
  action({
    path: `${PATH}/:alias/remove`,
    name: 'consoleDeleteAlias',
    calls: 'deleteAlias',
    renderCalls: [...DEPLOYMENT_SHOWN, 'getAlias'],
    before: mustPointHere,
    request: ({ params }) => ({ params: { idOrAlias: params.alias! } }),
    next: toDeployment,
    renderErrors: deploymentPage,
  }),
]

function toDeployment(_: unknown, { params }: Pick<ScreenInput, 'params'>): string {
  return deploymentPath({ slug: params.slug! }, params.name!, params.id!)
}

/** Refuses: not_found 404 for a domain that another deployment has by now. */
async function mustPointHere(ctx: ConsoleCtx, account: OwnAccount, params: ScreenInput['params']): Promise<void> {
  await mustBeOfProject(ctx, account, params)
  const alias = await unlessGone(ctx.callRoute<Alias>('getAlias', { account, params: { idOrAlias: params.alias! } }))
  if (alias && alias.deploymentId !== params.id) refuse('not_found', `${alias.alias} points to another deployment now.`)
}

async function showAssignment(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const { project, deployment } = await readDeployment(ctx, account, params)
  const back = deploymentPath(account, project.name, deployment.id)
  const title = 'Assign domain'
  return projectPage(ctx, account, project.name, 'deployments', {
    title,
    within: [[titleOf(deployment), back]],
    body: html`<div class="head"><h1>${title}</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
<p>The domain points to <strong>${titleOf(deployment)}</strong> until a later deployment or promote takes it.</p>
${field('alias', 'Domain', { required: true, error, hint: 'A verified domain of the project, or a new name that needs no verification.', attributes: PLAIN_TEXT })}
<p class="line"><button class="btn primary">Assign domain</button><a class="btn" href="${back}">Cancel</a></p>
</form>`,
  })
}
