/** The variables that projects of an account share. docs/shared-variables.md. */
import type { Static } from 'typebox'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { SharedList, SharedVariable } from '../../projects/shared-env/schema.ts'
import { copyButton, searchForm } from '../controls.ts'
import { dataTable } from '../fields.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath, projectPath } from '../frame.ts'
import {
  canChangeVariable,
  canReadVariable,
  compareKeys,
  environmentsLabel,
} from '../project/variables/environments.ts'
import { hiddenValueNote } from '../project/variables/values.ts'
import { relativeTime } from '../time.ts'
import { type Project, projectsToChoose } from '../webhooks/webhook-form.ts'

export const SHARED_PATH = '/console/t/:slug/variables'
const TITLE = 'Shared variables'
/** Projects of a variable that the list names. */
const NAMED = 3
const Search = Type.Object({ search: Type.Optional(Type.String({ maxLength: 256 })) })
type Listed = Static<typeof SharedList>['data'][number]

export const sharedVariableScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: SHARED_PATH,
    name: 'showSharedVariables',
    query: Search,
    calls: ['listSharedEnvVariable', 'getProjects'],
    run: showSharedVariables,
  }),
  consoleScreen({
    method: 'GET',
    path: `${SHARED_PATH}/:id`,
    name: 'revealSharedVariable',
    calls: ['getSharedEnvVar', 'getProjects'],
    requiresReauthentication: true,
    showsSecret: true,
    run: reveal,
  }),
]

/** Returns the path of the shared variables. */
export function sharedPath(account: Pick<OwnAccount, 'slug'>, section = ''): string {
  return accountPath(account, section === '' ? 'variables' : `variables/${section}`)
}

/** Lists shared variables, without values. */
export async function listSharedVariables(
  ctx: ConsoleCtx,
  account: OwnAccount,
  query: { search?: string; ids?: string } = {},
): Promise<Listed[]> {
  const { data } = await ctx.callRoute<Static<typeof SharedList>>('listSharedEnvVariable', { account, query })
  return data.sort(compareKeys)
}

async function showSharedVariables(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof Search>>) {
  const account = await findAccountOfPath(ctx, params)
  const search = query.search?.trim() || undefined
  const variables = await listSharedVariables(ctx, account, { ...(search && { search }) })
  const projects = variables.length > 0 ? await projectsToChoose(ctx, account) : []
  const path = sharedPath(account)
  return accountPage(ctx, account, 'variables', {
    title: TITLE,
    body: html`<div class="head"><h1>${TITLE}</h1>${canInAccount(account, 'env:write') && html`<a class="btn primary" href="${path}/new">Add shared variable</a>`}</div>
${(search !== undefined || variables.length > 0) && searchForm(path, 'Search shared variables by key', 'Key', search)}
${variables.length > 0 ? table(ctx, account, variables, projects) : nothing(search)}`,
  })
}

function nothing(search: string | undefined): Html {
  if (search !== undefined) return html`<p class="card empty">No shared variables match “${search}”.</p>`
  return html`<div class="card empty"><h2>No shared variables yet</h2>
<p>A shared variable is set once, and the projects that you link to it receive it. A project's own variable with the same key takes precedence.</p></div>`
}

function table(ctx: ConsoleCtx, account: OwnAccount, variables: readonly Listed[], projects: readonly Project[]): Html {
  return dataTable(
    TITLE,
    ['Key', 'Environments', 'Projects', 'Value', 'Changed'],
    variables.map(
      (variable) =>
        html`<tr><td>${keyOf(account, variable)}</td>
<td>${environmentsLabel(variable, [])}</td>
<td>${projectsLabel(account, projects, variable)}</td>
<td>${valueLink(account, variable)}</td>
<td><span class="soft">${relativeTime(variable.updatedAt, ctx.now)}</span></td></tr>
`,
    ),
  )
}

/** Renders the key and the comment of a shared variable, with a link for roles that can change it. */
export function keyOf(account: OwnAccount, variable: Pick<Listed, 'id' | 'key' | 'target' | 'comment'>): Html {
  const key = html`<code>${variable.key}</code>`
  return html`${canChangeVariable(account, variable) ? html`<a href="${sharedPath(account, `${variable.id}/edit`)}">${key}</a>` : key}${variable.comment && html`<br><span class="soft small">${variable.comment}</span>`}`
}

/** Links to the value if the role can read it. */
function valueLink(account: OwnAccount, variable: Listed): Html {
  if (canReadVariable(account, variable))
    return html`<a href="${sharedPath(account, variable.id)}" aria-label="Reveal ${variable.key}">Reveal</a>`
  return html`<span class="soft">${variable.type === 'sensitive' ? 'Write-only' : 'Hidden from your role'}</span>`
}

/** Names the first projects of a variable that are among `known`, and counts the others. */
function projectsLabel(
  account: OwnAccount,
  projects: readonly Project[],
  { projectId }: Pick<Listed, 'projectId'>,
): Html {
  if (projectId.length === 0) return html`<span class="soft">None</span>`
  const named = projects.filter(({ id }) => projectId.includes(id)).slice(0, NAMED)
  const others = projectId.length - named.length
  return html`${named.map(({ name }) => html`<a class="badge" href="${projectPath(account, name, 'variables/shared')}">${name}</a> `)}${others > 0 && html`<span class="soft">${named.length > 0 && 'and '}${others} ${named.length > 0 ? 'more' : others === 1 ? 'project' : 'projects'}</span>`}`
}

async function reveal(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const variable = await ctx.callRoute<SharedVariable>('getSharedEnvVar', { account, params: { id: params.id! } })
  const projects = await projectsToChoose(ctx, account)
  return accountPage(ctx, account, 'variables', {
    title: variable.key,
    within: [],
    body: html`<div class="head"><h1><code>${variable.key}</code></h1></div>
<section class="card in stack"><h2>Value</h2>${value(account, variable)}<p>${environmentsLabel(variable, [])}</p><p>${projectsLabel(account, projects, variable)}</p></section>
<p class="line">${canChangeVariable(account, variable) && html`<a href="${sharedPath(account, `${variable.id}/edit`)}">Edit</a> `}<a href="${sharedPath(account)}">All shared variables</a></p>`,
  })
}

function value(account: OwnAccount, { decrypted, type, value }: SharedVariable): Html {
  if (!decrypted) return hiddenValueNote(type)
  return html`<div class="code"><pre id="value">
${value}</pre>${copyButton('value')}</div>
<p class="soft small">This view was recorded in the <a href="${accountPath(account, 'activity')}">activity log</a>.</p>`
}
