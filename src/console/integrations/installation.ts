import type { Static } from 'typebox'
import { logoOf } from '../../integrations/consent/consent-page.ts'
import { listScopes } from '../../integrations/consent/scope-descriptions.ts'
import type { Configuration } from '../../integrations/installations/schema.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { Project, ProjectList } from '../../projects/projects/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { button, confirmedButton, countOf, dangerCard } from '../controls.ts'
import { copyable, dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { relativeTime } from '../time.ts'

const LIST = '/console/t/:slug/integrations'
const ONE = `${LIST}/:id`
/** Projects loaded to show names instead of ids. */
const NAMED = 100
/** Selected projects on a page, of up to 10,000. */
const SHOWN = 100
const FromQuery = Type.Object({ from: Type.Optional(Type.String({ maxLength: 5 })) })
const ProjectToAdd = Type.Object({ project: Type.String() })

const shows = ['getConfiguration', 'getProjects'] as const
function toOne(_: unknown, { params }: ScreenInput): string {
  return onePath({ slug: params.slug! }, params.id!)
}

export const installedIntegrationScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'consoleInstalled',
    calls: ['getConfigurations'],
    run: showInstalled,
  }),
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'consoleInstallation',
    query: FromQuery,
    calls: shows,
    run: showOne,
  }),
  action({
    path: `${ONE}/projects`,
    name: 'consoleAddInstallationProject',
    form: ProjectToAdd,
    calls: 'setConfigurationProject',
    renderCalls: shows,
    fieldNames: { projectId: 'project' },
    request: ({ params, form }) => ({
      params: { id: params.id!, projectId: form.project.trim() || '-' },
      body: { allowed: true },
    }),
    next: toOne,
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/projects/:projectId/remove`,
    name: 'consoleRemoveInstallationProject',
    calls: 'setConfigurationProject',
    renderCalls: shows,
    request: ({ params }) => ({ params: { id: params.id!, projectId: params.projectId! }, body: { allowed: false } }),
    next: toOne,
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/uninstall`,
    name: 'consoleUninstall',
    calls: 'deleteConfiguration',
    renderCalls: shows,
    request: ({ params }) => ({ params: { id: params.id! } }),
    next: (_, { params }) => accountPath({ slug: params.slug! }, 'integrations'),
    renderErrors: showAgain,
  }),
]

function onePath(account: Pick<OwnAccount, 'slug'>, id: string): string {
  return accountPath(account, `integrations/${encodeURIComponent(id)}`)
}

async function showInstalled(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const installations = await ctx.callRoute<Configuration[]>('getConfigurations', {
    account,
    query: { view: 'account' },
  })
  return accountPage(ctx, account, 'integrations', {
    title: 'Integrations',
    images: originsOf(installations),
    body: html`<div class="head"><h1>Integrations</h1></div>
${installations.length === 0 ? nothing() : html`<ul class="grid">${installations.map((installation) => card(account, installation, ctx.now))}</ul>`}`,
  })
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No integrations installed</h2>
<p>An integration is an app of another team. It can access the projects you select and create variables in them.</p>
<p class="soft">Install one from its developer's link.</p></div>`
}

function card(account: OwnAccount, configuration: Configuration, now: number): Html {
  return html`<li class="card in stack"><h2 class="named">${logo(configuration, 24)}<a href="${onePath(account, configuration.id)}">${toSingleLine(configuration.integration.name)}</a></h2>
<p>${stateOf(configuration)}</p>
<p class="soft small">${projectsShown(configuration)} · installed ${relativeTime(configuration.createdAt, now)}</p></li>`
}

/** A list has no long selections. */
function projectsShown({ projectSelection, projects }: Configuration): string {
  if (projectSelection === 'all') return 'All projects'
  return projects === undefined ? 'Many projects' : countOf(projects.length, 'project')
}

function stateOf({ disabledAt, pendingScopes, completedAt }: Configuration): Html {
  if (disabledAt !== undefined) return state('bad', 'Disabled')
  if (pendingScopes.length > 0) return state('warn', 'Requests more access')
  return completedAt === undefined ? state('warn', 'Not set up yet') : state('good', 'Active')
}

function logo({ integration }: Pick<Configuration, 'integration'>, size: number): Html | undefined {
  const image = logoOf({ logo_url: integration.icon })
  return image && html`<img src="${image.url}" alt="" width="${size}" height="${size}">`
}

function originsOf(installations: readonly Configuration[]): string {
  const origins = installations.flatMap(({ integration }) => logoOf({ logo_url: integration.icon })?.origin ?? [])
  return [...new Set(origins)].join(' ')
}

function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError) {
  return showOne(ctx, { ...input, query: {} }, error)
}

async function showOne(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof FromQuery>>, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const configuration = await ctx.callRoute<Configuration>('getConfiguration', { account, params: { id: params.id! } })
  const { projects } = await ctx.callRoute<Static<typeof ProjectList>>('getProjects', {
    account,
    query: { limit: String(NAMED) },
  })
  const name = toSingleLine(configuration.integration.name)
  const path = onePath(account, configuration.id)
  return accountPage(ctx, account, 'integrations', {
    title: name,
    within: [],
    images: originsOf([configuration]),
    body: html`<div class="head"><h1 class="named">${logo(configuration, 32)}${name}</h1></div>
${formErrorNotice(error)}
${notices(account, configuration)}
<section class="card in stack"><h2>Installation</h2>
<dl class="facts">
<dt>State</dt><dd>${stateOf(configuration)}</dd>
<dt>Installed</dt><dd>${relativeTime(configuration.createdAt, ctx.now)}</dd>
<dt>Changed</dt><dd>${relativeTime(configuration.updatedAt, ctx.now)}</dd>
<dt>ID</dt><dd>${copyable(configuration.id, 'id')}</dd>
</dl></section>
<section class="card in stack"><h2>What it can do</h2>${listScopes(configuration.scopes)}</section>
${projectsSection(ctx, account, configuration, { known: projects, from: Math.abs(Math.trunc(Number(query.from))) || 0 }, error)}
${canInAccount(account, 'installation:write') && dangerCard('Uninstall', html`<strong>${name}</strong> loses its access at once. Its webhooks, log drains and variables are removed. You cannot undo this. You can install it again.`, confirmedButton(ctx, `${path}/uninstall`, 'Uninstall'))}`,
  })
}

function notices(account: OwnAccount, configuration: Configuration): Html {
  const pages = canInAccount(account, 'installation:grant')
  return html`${
    configuration.disabledAt !== undefined &&
    note(
      'bad',
      html`It is disabled and its requests fail, because its owner lost access. An owner of the team can become its owner.
${pages && html`<a href="/integrations/installed/${configuration.id}/take-over">Become its owner</a>`}`,
    )
  }${
    configuration.pendingScopes.length > 0 &&
    note('info', html`It requests more access. <a href="/integrations/confirm/${configuration.id}">Review request</a>`)
  }`
}

function projectsSection(
  ctx: ConsoleCtx,
  account: OwnAccount,
  configuration: Configuration,
  { known, from }: { known: readonly Project[]; from: number },
  error: FormError | undefined,
): Html {
  if (configuration.projects === undefined)
    return html`<section class="card in stack"><h2>Projects</h2><p>All projects, present and future.</p></section>`
  const path = onePath(account, configuration.id)
  const grants = canInAccount(account, 'installation:grant')
  const row = (id: string) => {
    const called = known.find((project) => project.id === id)?.name ?? id
    const remove = button(ctx, `${path}/projects/${encodeURIComponent(id)}/remove`, 'Remove', {
      label: `Remove ${called}`,
    })
    return html`<tr><td>${called}</td>${grants && html`<td class="act">${remove}</td>`}</tr>`
  }
  return html`<section class="card in stack"><h2>Projects</h2>
${
  configuration.projects.length === 0
    ? html`<p>No projects.</p>`
    : dataTable('Projects', ['Project', grants && 'Actions'], configuration.projects.slice(from, from + SHOWN).map(row))
}
${pageLinks(path, from, configuration.projects.length)}
${
  grants &&
  html`<form class="stack" method="post" action="${path}/projects">${csrfFields(ctx)}
${field('project', 'Add a project', { required: true, error, hint: 'Name or ID of the project.', attributes: html`${PLAIN_TEXT} maxlength="100"` })}
<p class="line"><button class="btn primary">Add project</button></p></form>`
}</section>`
}

function pageLinks(path: string, from: number, count: number): Html | undefined {
  if (count <= SHOWN) return undefined
  const next = from + SHOWN
  return html`<p class="page-links">${countOf(count, 'project')} ${from > 0 && html`<a href="${path}">First</a> `}${next < count && html`<a href="${path}?from=${next}" rel="next">Next</a>`}</p>`
}
