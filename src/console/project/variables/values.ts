/** Pages with values: of one variable, or of an environment as a file. Each request leaves one audit entry. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { EnvVar } from '../../../projects/env/schema.ts'
import { copyButton } from '../../controls.ts'
import { accountPath, findAccountOfPath, projectPage } from '../../frame.ts'
import { readCustomEnvironments } from '../environments.ts'
import { canChangeVariable, environmentsLabel, listPath, VARIABLE_PATH, VARIABLES_PATH } from './environments.ts'

const Place = Type.Object({ environment: Type.Optional(Type.String({ maxLength: 256 })) })

export const variableValueScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: VARIABLE_PATH,
    name: 'revealVariable',
    calls: ['getProjectEnv', 'getProjectCustomEnvironments'],
    requiresReauthentication: true,
    showsSecret: true,
    run: (ctx, input) => reveal(ctx, input),
  }),
  consoleScreen({
    method: 'GET',
    path: `${VARIABLES_PATH}/export`,
    name: 'downloadVariables',
    query: Place,
    calls: ['exportProjectEnv'],
    requiresReauthentication: true,
    showsSecret: true,
    run: download,
  }),
]

/** Returns the id of the frame that holds the value of a variable, in its row and on its page. */
export function valueFrameId(id: string): string {
  return `value-${id}`
}

async function reveal(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const variable = await ctx.callRoute<EnvVar>('getProjectEnv', {
    account,
    params: { idOrName: project, id: params.id! },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const path = listPath(account, project)
  return projectPage(ctx, account, project, 'variables', {
    title: variable.key,
    within: [],
    body: html`<div class="head"><h1><code>${variable.key}</code></h1></div>
<section class="card in stack"><h2>Value</h2><turbo-frame id="${valueFrameId(variable.id)}">${shown(variable)}</turbo-frame>
${variable.decrypted && html`<p class="soft small">This view was recorded in the <a href="${accountPath(account, 'activity')}">activity log</a>.</p>`}
<p>${environmentsLabel(variable, environments)}</p></section>
<p class="line">${canChangeVariable(account, variable) && html`<a href="${path}/${variable.id}/edit">Edit</a> `}<a href="${path}/${variable.id}/history">History</a> <a href="${path}">All variables</a></p>`,
  })
}

function shown({ decrypted, type, value }: EnvVar): Html {
  if (decrypted)
    return html`<div class="code"><pre>
${value}</pre>${copyButton('value')}</div>`
  return hiddenValueNote(type)
}

/** Renders why the value of a variable is not shown. */
export function hiddenValueNote(type: EnvVar['type']): Html {
  return note(
    'info',
    type === 'sensitive' ? 'This value is write-only. Only deployments receive it.' : 'Your role cannot read values.',
  )
}

/** What a deployment of the environment gets, without what no file carries. docs/variables.md: Text export. */
async function download(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof Place>>) {
  const account = await findAccountOfPath(ctx, params)
  const target = query.environment ?? 'development'
  const text = await ctx.callRoute<string>('exportProjectEnv', {
    account,
    params: { idOrName: params.name! },
    query: { target },
  })
  const fileName = `${params.name}-${target}.env`.replaceAll(/[^\w.-]/g, '-')
  return { download: { fileName, contentType: 'text/plain; charset=utf-8', text } }
}
