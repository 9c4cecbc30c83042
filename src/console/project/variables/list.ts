import type { Static } from 'typebox'
import { icon } from '../../../platform/pages/face/icons.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import { type EnvList, type EnvVar, TARGETS } from '../../../projects/env/schema.ts'
import { action, formErrorNotice } from '../../action.ts'
import { actionMenu, apiCommand, countOf, filterForm, shellCommand, TOKEN_HINT } from '../../controls.ts'
import { type Choice, dataTable, select } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { canInAccount, findAccountOfPath, projectPage } from '../../frame.ts'
import { readUserNames, USER_NAME_CALLS } from '../../names/users.ts'
import { relativeTime } from '../../time.ts'
import { type CustomEnvironments, environmentName, readCustomEnvironments } from '../environments.ts'
import {
  canChangeVariable,
  canReadVariable,
  compareKeys,
  environmentChoices,
  environmentsLabel,
  isIn,
  listPath,
  VARIABLE_PATH,
  VARIABLES_PATH,
} from './environments.ts'
import { valueFrameId } from './values.ts'

const Text = Type.Optional(Type.String({ maxLength: 256 }))
const Search = Type.Object({ search: Text, environment: Text, branch: Text, sort: Text })
type Query = Static<typeof Search>
type Listed = Static<typeof EnvList>['envs']

const ORDERS: readonly Choice[] = [
  ['', 'By key'],
  ['changed', 'Last changed first'],
]
const CHOSEN = 'chosen'

const SHOWN = ['filterProjectEnvs', 'getProjectCustomEnvironments', ...USER_NAME_CALLS]

export const variableScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: VARIABLES_PATH,
    name: 'showVariables',
    query: Search,
    calls: SHOWN,
    run: showVariables,
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
  const found = narrow(envs, query).sort(query.sort === 'changed' ? compareTimes : compareKeys)
  const people = found.flatMap(({ updatedBy }) => updatedBy ?? [])
  const names = await readUserNames(ctx, account, people)
  const logos = new Set(found.flatMap((variable) => originOf(variable.integration?.icon)))
  const path = listPath(account, project)
  return projectPage(ctx, account, project, 'variables', {
    title: 'Variables',
    images: [...logos].join(' '),
    body: html`<div class="head"><h1>Variables</h1><div class="line"><a class="btn quiet" href="${path}/shared">Shared variables</a><a class="btn quiet" href="${path}/compare">Compare environments</a>${envs.length > 0 && downloads(account, path, environments)}${canInAccount(account, 'env:write') && html`<a class="btn" href="${path}/import">${icon('upload')}Paste a .env file</a><a class="btn primary" href="${path}/new">${icon('plus')}Add variable</a>`}</div></div>
${formErrorNotice(error)}
${envs.length > 0 && filters(path, query, envs.length, environmentChoices(environments))}
${found.length > 0 ? table(ctx, account, found, { path, environments, names }) : nothing(ctx, account, project, envs.length === 0)}`,
  })
}

/** With an environment, returns what a deployment there receives: a branch value hides the general one of the same key. */
function narrow(envs: Listed, { search = '', environment, branch }: Query): Listed {
  const text = search.trim().toLowerCase()
  const named = envs.filter(({ key }) => key.toLowerCase().includes(text))
  if (!environment) return named
  const there = named.filter(
    (variable) => isIn(variable, environment) && (variable.gitBranch === undefined || variable.gitBranch === branch),
  )
  const ofBranch = new Set(there.filter(({ gitBranch }) => gitBranch !== undefined).map(({ key }) => key))
  return there.filter(({ key, gitBranch }) => gitBranch !== undefined || !ofBranch.has(key))
}

function filters(path: string, query: Query, count: number, choices: ReturnType<typeof environmentChoices>): Html {
  const fields = html`<div><label for="search">Key</label>
<input type="search" id="search" name="search" value="${query.search}" placeholder="Search ${countOf(count, 'variable')}"></div>
<div>${select('environment', 'Environment', [['', 'Any environment'], ...choices], { value: query.environment })}</div>
<div><label for="branch">Branch</label>
<input type="text" id="branch" name="branch" value="${query.branch}" placeholder="Branch"></div>
<div>${select('sort', 'Order', ORDERS, { value: query.sort })}</div>`
  return filterForm(path, [query.search, query.environment, query.branch, query.sort].some(Boolean), fields)
}

/** The last changed first. */
function compareTimes(a: Listed[number], b: Listed[number]): number {
  return b.updatedAt - a.updatedAt || compareKeys(a, b)
}

/** One file for each environment whose values the role can read. */
function downloads(account: OwnAccount, path: string, environments: CustomEnvironments): Html | undefined {
  if (!canInAccount(account, 'env:decrypt')) return undefined
  const names = [...TARGETS, ...environments.map(({ slug }) => slug)].filter(
    (name) => name !== 'production' || canInAccount(account, 'env:production'),
  )
  return html`<details class="menu right" name="menu"><summary class="btn">${icon('download')}Download .env</summary><div class="pop"><p>Values of</p>
${names.map((name) => html`<a href="${path}/export?environment=${encodeURIComponent(name)}" data-turbo="false">${environmentName(name)}</a>`)}</div></details>`
}

type Around = { path: string; environments: CustomEnvironments; names: ReadonlyMap<string, string> }

function table(ctx: ConsoleCtx, account: OwnAccount, envs: Listed, { path, environments, names }: Around): Html {
  const removes = envs.some((variable) => canChangeVariable(account, variable))
  return html`${dataTable(
    'Variables',
    ['Key', 'Environments', 'Value', 'Changed', 'Actions'],
    envs.map(
      (variable) =>
        html`<tr><td>${canChangeVariable(account, variable) && box(variable)}<a href="${path}/${variable.id}/${canChangeVariable(account, variable) ? 'edit' : 'history'}"><code>${variable.key}</code></a>${maker(variable)}${variable.comment && html`<br><span class="soft small">${variable.comment}</span>`}</td>
<td>${environmentsLabel(variable, environments)}</td>
<td>${value(account, variable, path)}</td>
<td><a class="soft" href="${path}/${variable.id}/history">${relativeTime(variable.updatedAt, ctx.now)}</a>${changedBy(variable, names)}</td>
<td class="act">${menu(account, variable, path)}</td></tr>
`,
    ),
  )}
${removes && html`<form class="chosen" id="${CHOSEN}" action="${path}/delete"><button class="btn bad">${icon('trash-2')}Delete chosen…</button></form>`}`
}

function box({ id, key }: Listed[number]): Html {
  return html`<label class="choose"><input type="checkbox" name="id" value="${id}" form="${CHOSEN}" aria-label="Choose ${key}"></label>`
}

/** Users who left the account have no name here; the history has their id. */
function changedBy({ updatedBy, configurationId, integration }: Listed[number], names: Around['names']) {
  const name = names.get(updatedBy ?? '') ?? (updatedBy === configurationId ? integration?.name : undefined)
  return name && html` <span class="soft">by ${name}</span>`
}

function menu(account: OwnAccount, variable: Listed[number], path: string): Html {
  const at = `${path}/${variable.id}`
  const canChange = canChangeVariable(account, variable)
  return actionMenu(
    variable.id,
    variable.key,
    html`${canChange && html`<a href="${at}/edit">${icon('pencil')}Edit</a>`}<a href="${at}/history">${icon('history')}History</a>${canChange && html`<hr><a class="bad" href="${at}/edit#delete">${icon('trash-2')}Delete…</a>`}`,
  )
}

/** Links to the value if the role can read it. With script, it appears in this frame. */
function value(account: OwnAccount, variable: Listed[number], path: string): Html {
  if (canReadVariable(account, variable))
    return html`<turbo-frame id="${valueFrameId(variable.id)}" data-opens><a class="btn quiet small reveal" href="${path}/${variable.id}" aria-label="Reveal ${variable.key}">${icon('eye')}Reveal</a></turbo-frame>`
  return html`<span class="soft">${icon('lock')} ${variable.type === 'sensitive' ? 'Write-only' : 'Hidden from your role'}</span>`
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

function nothing(ctx: ConsoleCtx, account: OwnAccount, project: string, isEmpty: boolean): Html {
  if (!isEmpty) return html`<p class="card empty">No variables match these filters.</p>`
  return html`<div class="card empty"><h2>No variables yet</h2><p>Builds and functions read variables such as API keys, URLs and feature flags. Values are encrypted.</p>
<p class="soft small">From a terminal on the server:</p>
${shellCommand(`berth env import ${project} .env --target production${account.kind === 'team' ? ` --team ${account.slug}` : ''}`)}
${TOKEN_HINT}
${apiCommand(ctx, `/v10/projects/${project}/env?slug=${account.slug}`, { key: 'NAME', value: 'value', target: ['production'] })}</div>`
}
