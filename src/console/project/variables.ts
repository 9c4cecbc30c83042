/** The variables of a project: where each is had, who made it, and adding, revealing and deleting one. No value is in the list. */
import type { Static } from 'typebox'
import { type EnvList, type EnvVar, TARGETS } from '../../env/schema.ts'
import type { OwnAccount } from '../../pages/acting.ts'
import { type Html, html } from '../../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput, tokenField } from '../../pages/screen.ts'
import { Type } from '../../schema/builder.ts'
import { action, faultOf, field, type Refused } from '../action.ts'
import { accountIn, projectPath, showPage } from '../frame.ts'
import { ago } from '../time.ts'

const LIST = '/console/t/:slug/projects/:name/variables'
const ONE = `${LIST}/:id`
const Search = Type.Object({ search: Type.Optional(Type.String({ maxLength: 256 })) })
const NewVariable = Type.Object({
  key: Type.String({ maxLength: 1024 }),
  value: Type.String({ maxLength: 128 * 1024 }),
  target: Type.Array(Type.String({ maxLength: 20 }), { maxItems: 3 }),
  type: Type.Union([Type.Literal('encrypted'), Type.Literal('sensitive')]),
  comment: Type.Optional(Type.String({ maxLength: 500 })),
})

export const variableScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showVariables',
    query: Search,
    asks: ['filterProjectEnvs'],
    run: showVariables,
  }),
  consoleScreen({ method: 'GET', path: `${LIST}/new`, name: 'showNewVariable', asks: [], run: showNew }),
  action({
    path: `${LIST}/new`,
    name: 'consoleCreateVariable',
    form: NewVariable,
    asks: 'createProjectEnv',
    shows: [],
    wish: ({ params, form: { comment, ...form } }) => ({
      params: { idOrName: params.name! },
      body: { ...form, key: form.key.trim(), ...(comment && { comment }) },
    }),
    to: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    again: showNew,
  }),
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'revealVariable',
    asks: ['getProjectEnv'],
    fresh: true,
    run: (ctx, input) => reveal(ctx, input),
  }),
  action({
    path: `${ONE}/delete`,
    name: 'consoleDeleteVariable',
    asks: 'removeProjectEnv',
    shows: ['filterProjectEnvs'],
    wish: ({ params }) => ({ params: { idOrName: params.name!, id: params.id! } }),
    to: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    again: (ctx, input, refused) => showVariables(ctx, { ...input, query: {} }, refused),
  }),
]

function listPath(account: Pick<OwnAccount, 'slug'>, project: string): string {
  return projectPath(account, project, 'variables')
}

async function showVariables(
  ctx: ConsoleCtx,
  { params, query }: ScreenInput<Static<typeof Search>>,
  refused?: Refused,
) {
  const account = await accountIn(ctx, params)
  const project = params.name!
  const { envs } = await ctx.ask<Static<typeof EnvList>>('filterProjectEnvs', {
    account,
    params: { idOrName: project },
  })
  const text = query.search?.trim().toLowerCase() ?? ''
  const found = envs.filter(({ key }) => key.toLowerCase().includes(text)).sort((a, b) => (a.key < b.key ? -1 : 1))
  const logos = new Set(found.flatMap((one) => originOf(one.integration?.icon)))
  const path = listPath(account, project)
  return showPage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: 'Variables',
      images: [...logos].join(' '),
      body: html`<div class="top"><h1>Variables</h1><a class="button" href="${path}/new">Add a variable</a></div>
${faultOf(refused)}
${envs.length > 0 && html`<form class="search card" action="${path}" role="search"><input type="search" name="search" value="${query.search}" aria-label="Search variables by key" placeholder="Search ${envs.length} variables"><button class="quiet">Search</button></form>`}
${found.length > 0 ? table(ctx, path, found) : none(text)}`,
    },
  )
}

function table(ctx: ConsoleCtx, path: string, envs: Static<typeof EnvList>['envs']): Html {
  return html`<div class="sheet"><table><thead><tr><th>Key</th><th>Where</th><th>Value</th><th>Changed</th><th><span class="soft">Actions</span></th></tr></thead><tbody>
${envs.map(
  (
    one,
  ) => html`<tr><td><code>${one.key}</code>${maker(one)}${one.comment && html`<br><span class="soft small">${one.comment}</span>`}</td>
<td>${places(one)}</td>
<td>${one.type === 'sensitive' ? html`<span class="soft">write-only</span>` : html`<a href="${path}/${one.id}">Reveal</a>`}</td>
<td>${ago(one.updatedAt, ctx.now)}</td>
<td class="act"><form method="post" action="${path}/${one.id}/delete">${tokenField(ctx)}<button class="quiet small" aria-label="Delete ${one.key}">Delete</button></form></td></tr>`,
)}
</tbody></table></div>`
}

/** The integration that made a variable, with its logo: the specification asks for both. */
function maker({ integration }: Pick<EnvVar, 'integration'>): Html | undefined {
  if (integration === undefined) return undefined
  const { icon, name } = integration
  const image = originOf(icon).length > 0 && html`<img src="${icon}" alt="" width="16" height="16"> `
  return html`<br><span class="tag">${image}${name}</span>`
}

function originOf(icon: string | undefined): string[] {
  const url = URL.parse(icon ?? '')
  return url !== null && /^https:\/\/[a-z0-9.-]+(:\d+)?$/.test(url.origin) ? [url.origin] : []
}

function places({ target, gitBranch, customEnvironmentIds }: EnvVar): Html {
  const words = [...target, ...customEnvironmentIds]
  return html`${words.map((one) => html`<span class="tag">${one}</span> `)}${gitBranch && html`<span class="tag">branch ${gitBranch}</span>`}`
}

function none(search: string): Html {
  if (search !== '') return html`<p class="card empty">No variable has “${search}” in its key.</p>`
  return html`<div class="card empty"><h2>No variable yet</h2><p>Variables are what builds and functions read: keys of other services, addresses, switches. Their values are encrypted.</p></div>`
}

async function showNew(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await accountIn(ctx, params)
  const project = params.name!
  const chosen = (refused?.typed.target as string[] | undefined) ?? [...TARGETS]
  return showPage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: 'Add a variable',
      body: html`<div class="top"><h1>Add a variable</h1></div>
${faultOf(refused)}
<form class="stack card" method="post" action="${url}">
${tokenField(ctx)}
${field('key', 'Key', { required: true, refused, attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
<label for="value">Value</label>
<textarea id="value" name="value" autocomplete="off" spellcheck="false">${String(refused?.typed.value ?? '')}</textarea>
<fieldset><legend>Where</legend>
${TARGETS.map((one) => html`<label class="choice"><input type="checkbox" name="target" value="${one}"${chosen.includes(one) && html` checked`}> ${one}</label>`)}
</fieldset>
<label for="type">Who may read it</label>
<select id="type" name="type"><option value="encrypted">Members who may read values</option><option value="sensitive"${refused?.typed.type === 'sensitive' && html` selected`}>Nobody: only deployments get it</option></select>
${field('comment', 'Comment', { refused, attributes: html` maxlength="500"` })}
<p class="actions"><button>Add</button><a class="button quiet" href="${listPath(account, project)}">Cancel</a></p>
</form>`,
    },
  )
}

/** One value, on a page of its own. */
async function reveal(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await accountIn(ctx, params)
  const project = params.name!
  const variable = await ctx.ask<EnvVar>('getProjectEnv', { account, params: { idOrName: project, id: params.id! } })
  const value = variable.decrypted
    ? html`<pre id="value">${variable.value}</pre>`
    : html`<p class="notice">${variable.type === 'sensitive' ? 'This value is write-only: only deployments get it.' : 'Your role does not read values.'}</p>`
  return showPage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: variable.key,
      body: html`<div class="top"><h1><code>${variable.key}</code></h1></div>
<section class="card"><h2>Value</h2>${value}<p>${places(variable)}</p></section>
<p><a href="${listPath(account, project)}">Back to the variables</a></p>`,
    },
  )
}
