import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { EnvList, EnvVar } from '../../../projects/env/schema.ts'
import { action, formErrorNotice } from '../../action.ts'
import { copyButton, countOf, filterForm } from '../../controls.ts'
import { dataTable, select } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { accountPath, canInAccount, consolePage, findAccountOfPath } from '../../frame.ts'
import { relativeTime } from '../../time.ts'
import { type CustomEnvironments, readCustomEnvironments } from '../environments.ts'
import {
  canChangeVariable,
  canReadVariable,
  environmentChoices,
  environmentsLabel,
  isIn,
  listPath,
  VARIABLE_PATH,
  VARIABLES_PATH,
} from './environments.ts'

const Text = Type.Optional(Type.String({ maxLength: 256 }))
const Search = Type.Object({ search: Text, environment: Text, branch: Text })
type Query = Static<typeof Search>
type Listed = Static<typeof EnvList>['envs']

const SHOWN = ['filterProjectEnvs', 'getProjectCustomEnvironments']

export const variableScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: VARIABLES_PATH,
    name: 'showVariables',
    query: Search,
    calls: SHOWN,
    run: showVariables,
  }),
  consoleScreen({
    method: 'GET',
    path: VARIABLE_PATH,
    name: 'revealVariable',
    calls: ['getProjectEnv', 'getProjectCustomEnvironments'],
    requiresReauthentication: true,
    showsSecret: true,
    run: (ctx, input) => reveal(ctx, input),
  }),
  action({
    path: `${VARIABLE_PATH}/delete`,
    name: 'consoleDeleteVariable',
    calls: 'removeProjectEnv',
    renderCalls: SHOWN,
    request: ({ params }) => ({ params: { idOrName: params.name!, id: params.id! } }),
    next: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    renderErrors: (ctx, input, error) => showVariables(ctx, { ...input, query: {} }, error),
  }),
]

async function showVariables(ctx: ConsoleCtx, { params, query }: ScreenInput<Query>, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const { envs } = await ctx.callRoute<Static<typeof EnvList>>('filterProjectEnvs', {
    account,
    params: { idOrName: project },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const found = narrow(envs, query).sort((a, b) => compareTexts(a.key, b.key))
  const logos = new Set(found.flatMap((one) => originOf(one.integration?.icon)))
  const path = listPath(account, project)
  return consolePage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: 'Variables',
      images: [...logos].join(' '),
      body: html`<div class="head"><h1>Variables</h1><p class="line"><a href="${path}/shared">Shared variables</a> <a href="${path}/compare">Compare environments</a> ${canInAccount(account, 'env:write') && html`<a class="btn" href="${path}/import">Paste a .env file</a> <a class="btn primary" href="${path}/new">Add variable</a>`}</p></div>
${formErrorNotice(error)}
${envs.length > 0 && filters(path, query, envs.length, environmentChoices(environments))}
${found.length > 0 ? table(ctx, account, found, path, environments) : nothing(account, project, envs.length === 0)}`,
    },
  )
}

/** With an environment, returns what a deployment there receives: a branch value hides the general one of the same key. */
function narrow(envs: Listed, { search = '', environment, branch }: Query): Listed {
  const text = search.trim().toLowerCase()
  const named = envs.filter(({ key }) => key.toLowerCase().includes(text))
  if (!environment) return named
  const there = named.filter(
    (one) => isIn(one, environment) && (one.gitBranch === undefined || one.gitBranch === branch),
  )
  const ofBranch = new Set(there.filter(({ gitBranch }) => gitBranch !== undefined).map(({ key }) => key))
  return there.filter(({ key, gitBranch }) => gitBranch !== undefined || !ofBranch.has(key))
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function filters(path: string, query: Query, count: number, choices: ReturnType<typeof environmentChoices>): Html {
  const fields = html`<div><label for="search">Key</label>
<input type="search" id="search" name="search" value="${query.search}" placeholder="Search ${countOf(count, 'variable')}"></div>
<div>${select('environment', 'Environment', [['', 'Any environment'], ...choices], { value: query.environment })}</div>
<div><label for="branch">Branch</label>
<input type="text" id="branch" name="branch" value="${query.branch}" placeholder="Branch"></div>`
  return filterForm(path, [query.search, query.environment, query.branch].some(Boolean), fields)
}

function table(
  ctx: ConsoleCtx,
  account: OwnAccount,
  envs: Listed,
  path: string,
  environments: CustomEnvironments,
): Html {
  return dataTable(
    'Variables',
    ['Key', 'Environments', 'Value', 'Changed'],
    envs.map(
      (variable) =>
        html`<tr><td><a href="${path}/${variable.id}/${canChangeVariable(account, variable) ? 'edit' : 'history'}"><code>${variable.key}</code></a>${maker(variable)}${variable.comment && html`<br><span class="soft small">${variable.comment}</span>`}</td>
<td>${environmentsLabel(variable, environments)}</td>
<td>${value(account, variable, path)}</td>
<td><a class="soft" href="${path}/${variable.id}/history">${relativeTime(variable.updatedAt, ctx.now)}</a></td></tr>
`,
    ),
  )
}

/** Links to the value if the role can read it. */
function value(account: OwnAccount, one: Listed[number], path: string): Html {
  if (canReadVariable(account, one)) return html`<a href="${path}/${one.id}" aria-label="Reveal ${one.key}">Reveal</a>`
  return html`<span class="soft">${one.type === 'sensitive' ? 'Write-only' : 'Hidden from your role'}</span>`
}

/** The specification requires the name and logo of the integration. */
function maker({ integration }: Pick<EnvVar, 'integration'>): Html | undefined {
  if (integration === undefined) return undefined
  const { icon, name } = integration
  const image = originOf(icon).length > 0 && html`<img src="${icon}" alt="" width="16" height="16"> `
  return html`<br><span class="badge">${image}${name}</span>`
}

function originOf(icon: string | undefined): string[] {
  const url = URL.parse(icon ?? '')
  return url !== null && /^https:\/\/[a-z0-9.-]+(:\d+)?$/.test(url.origin) ? [url.origin] : []
}

function nothing(account: OwnAccount, project: string, isEmpty: boolean): Html {
  if (!isEmpty) return html`<p class="card empty">No variables match these filters.</p>`
  return html`<div class="card empty"><h2>No variables yet</h2><p>Builds and functions read variables such as API keys, URLs and feature flags. Values are encrypted.</p>
<p class="soft small">From a terminal, with the CLI or the API:</p>
<pre>berth env import ${project} .env --target production</pre>
<pre>curl -X POST "$BERTH/v10/projects/${project}/env?slug=${account.slug}" -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '{"key": "NAME", "value": "value", "target": ["production"]}'</pre></div>`
}

async function reveal(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const variable = await ctx.callRoute<EnvVar>('getProjectEnv', {
    account,
    params: { idOrName: project, id: params.id! },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const value = variable.decrypted
    ? html`<div class="code"><pre id="value">
${variable.value}</pre>${copyButton('value')}</div>
<p class="soft small">This view was recorded in the <a href="${accountPath(account, 'activity')}">activity log</a>.</p>`
    : note(
        'info',
        html`${variable.type === 'sensitive' ? 'This value is write-only. Only deployments receive it.' : 'Your role cannot read values.'}`,
      )
  const path = listPath(account, project)
  return consolePage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: variable.key,
      within: [],
      body: html`<div class="head"><h1><code>${variable.key}</code></h1></div>
<section class="card in stack"><h2>Value</h2>${value}<p>${environmentsLabel(variable, environments)}</p></section>
<p class="line">${canChangeVariable(account, variable) && html`<a href="${path}/${variable.id}/edit">Edit</a> `}<a href="${path}/${variable.id}/history">History</a> <a href="${path}">All variables</a></p>`,
    },
  )
}
