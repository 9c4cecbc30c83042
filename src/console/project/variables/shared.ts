/** The shared variables that a project has, and those that can be linked to it. docs/shared-variables.md. */
import { icon } from '../../../platform/pages/face/icons.ts'
import { state } from '../../../platform/pages/face/states.ts'
import { html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { action, formErrorNotice } from '../../action.ts'
import { button } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { canInAccount, findAccountOfPath, projectPage } from '../../frame.ts'
import { keyOf, listSharedVariables, sharedPath } from '../../shared-variables/list.ts'
import { canChangeVariable, environmentsLabel, listPath, VARIABLES_PATH } from './environments.ts'

const PATH = `${VARIABLES_PATH}/shared`
const TITLE = 'Shared variables'
const CALLS = ['listSharedEnvVariable', 'getProject']
/** The route takes the id of the project, which the page has. */
const Link = Type.Object({ projectId: Type.Optional(Type.String()), linked: Type.Optional(Type.String()) })

export const sharedOfProjectScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'showSharedOfProject',
    calls: CALLS,
    run: (ctx, input) => showShared(ctx, input),
  }),
  action({
    path: `${PATH}/:id`,
    name: 'consoleLinkSharedVariable',
    form: Link,
    calls: 'updateSharedEnvVariable',
    renderCalls: CALLS,
    before: (ctx, account, { name }) => ctx.callRoute('getProject', { account, params: { idOrName: name! } }),
    request: ({ form: { projectId = '', linked } }) => ({
      body: { projectIdUpdates: linked === 'true' ? { link: [projectId] } : { unlink: [projectId] } },
    }),
    within: ({ id }) => ['updates', id!],
    next: (_, { params }) => listPath({ slug: params.slug! }, params.name!, 'shared'),
    renderErrors: showShared,
  }),
]

async function showShared(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const { id, name } = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const variables = await listSharedVariables(ctx, account)
  const path = listPath(account, name, 'shared')
  const writes = canInAccount(account, 'env:write')
  const rows = variables.map((variable) => {
    const isLinked = variable.projectId.includes(id)
    const link = () =>
      button(ctx, `${path}/${encodeURIComponent(variable.id)}`, isLinked ? 'Unlink' : 'Link', {
        label: `${isLinked ? 'Unlink' : 'Link'} ${variable.key}`,
        fields: { projectId: id, ...(!isLinked && { linked: 'true' }) },
      })
    return html`<tr><td>${keyOf(account, variable)}</td><td>${environmentsLabel(variable, [])}</td>
<td>${isLinked ? state('good', 'Linked') : state('idle', 'Not linked')}</td>
${writes && html`<td class="act">${canChangeVariable(account, variable) && link()}</td>`}</tr>`
  })
  return projectPage(ctx, account, name, 'variables', {
    title: TITLE,
    within: [],
    body: html`<div class="head"><h1>${TITLE}</h1><a class="btn quiet" href="${sharedPath(account)}">All shared variables${icon('arrow-right')}</a></div>
${formErrorNotice(error)}
<p class="soft">Future deployments of ${name} have the linked variables. Its own variables with the same key take precedence.</p>
${dataTable(TITLE, ['Key', 'Environments', 'State', writes && 'Actions'], rows, { none: 'The account has no shared variables yet.' })}`,
  })
}
