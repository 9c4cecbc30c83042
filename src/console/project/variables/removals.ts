/** Deleting the chosen variables of a list, after a page that says which go and which stay. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import { html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { EnvList } from '../../../projects/env/schema.ts'
import { action, formErrorNotice } from '../../action.ts'
import { countOf } from '../../controls.ts'
import { toStringList } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { findAccountOfPath, projectPage } from '../../frame.ts'
import { sheet } from '../confirm.ts'
import { type CustomEnvironments, readCustomEnvironments } from '../environments.ts'
import { canChangeVariable, compareKeys, environmentsLabel, listPath, VARIABLES_PATH } from './environments.ts'

const PATH = `${VARIABLES_PATH}/delete`
/** Their ids are in the address of the question. */
const MOST = 200
const Chosen = Type.Object({ id: Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: MOST })) })
type Listed = Static<typeof EnvList>['envs']

const SHOWN = ['filterProjectEnvs', 'getProjectCustomEnvironments']

export const variableRemovalScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'confirm-delete-variables',
    query: Chosen,
    calls: SHOWN,
    run: (ctx, input) => askRemovals(ctx, input, input.query.id ?? []),
  }),
  action<typeof Chosen>({
    path: PATH,
    name: 'consoleDeleteVariables',
    form: Chosen,
    calls: 'batchRemoveProjectEnv',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({ params: { idOrName: params.name! }, body: { ids: form.id ?? [] } }),
    next: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    renderErrors: (ctx, input, error) => askRemovals(ctx, input, toStringList(error?.typed.id), error),
  }),
]

async function askRemovals(ctx: ConsoleCtx, { params }: ScreenInput, ids: readonly string[], error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const { envs } = await ctx.callRoute<Static<typeof EnvList>>('filterProjectEnvs', {
    account,
    params: { idOrName: params.name! },
  })
  const environments = await readCustomEnvironments(ctx, account, params.name!)
  const found = envs.filter(({ id }) => ids.includes(id)).sort(compareKeys)
  const going = found.filter((variable) => canChangeVariable(account, variable))
  const staying = found.filter((variable) => !going.includes(variable))
  const back = listPath(account, params.name!)
  const title = `Delete ${countOf(going.length, 'variable')}?`
  const none =
    () => html`<h1>Delete variables</h1>${found.length === 0 ? note('info', 'Choose variables in the list first.') : stays(staying)}
<p class="line"><a class="btn" href="${back}">All variables</a></p>`
  const question = () =>
    sheet(ctx, {
      title,
      about: html`Future deployments won't have them. Their values are erased now, history included.`,
      moves: listed(going, environments),
      follows: html`${stays(staying)}`,
      action: `${back}/delete`,
      back,
      button: html`<button class="btn danger">Delete ${countOf(going.length, 'variable')}</button>`,
    })
  return projectPage(ctx, account, params.name!, 'variables', {
    title: going.length === 0 ? 'Delete variables' : title,
    within: [],
    body: html`${formErrorNotice(error)}${going.length === 0 ? none() : question()}`,
  })
}

function listed(variables: Listed, environments: CustomEnvironments) {
  return html`<div class="berths">${variables.map(
    (variable) => html`<div><div class="medium any"><code>${variable.key}</code></div>
<div class="line tight small">${environmentsLabel(variable, environments)}</div><input type="hidden" name="id" value="${variable.id}"></div>`,
  )}</div>`
}

function stays(variables: Listed) {
  if (variables.length === 0) return undefined
  const keys = variables.map(({ key }, at) => html`${at > 0 && ', '}<code>${key}</code>`)
  return note('info', html`Your role cannot change production variables, so these stay: ${keys}.`)
}
