import type { Static } from 'typebox'
import { nameOfTeam, selectReceivedInvitations } from '../../accounts/members/received-invitations.ts'
import { rowCount } from '../../platform/db/db.ts'
import type { ReadyState } from '../../platform/db/deployment-tables.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { tile } from '../../platform/pages/face/initials.ts'
import { state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { accountsOf, type OwnAccount } from '../../platform/pages/own-accounts.ts'
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
import { apiCommand, linkCommand, sentenceCase, shellCommand, TOKEN_HINT } from '../controls.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath, homePath, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { commitAuthor, commitRefs, titleOf } from './commit.ts'
import {
  failedOf,
  failedState,
  failureReason,
  type LatestDeployment,
  type NewestDeployments,
  readLatestDeployments,
} from './newest-deployments.ts'

const PAGE = 20
const ACCOUNT = '/console/t/:slug'
/** The count stops here. */
const MAX_COUNTED = 10_000
/** Pending invitations shown. All are at /invitations. */
const MAX_INVITATIONS = 3
const FEWEST_BARS = 3
const ListQuery = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 256 })),
  until: Type.Optional(Type.String({ maxLength: 20 })),
})
/** The route validates, so the form keeps the submitted values. */
const NewProject = Type.Object({ name: Type.Optional(Type.String()) })

export const projectListScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: '/console', name: 'openConsole', calls: [], run: openConsole }),
  consoleScreen({
    method: 'GET',
    path: ACCOUNT,
    name: 'showProjects',
    query: ListQuery,
    calls: ['getProjects'],
    run: showProjects,
  }),
  consoleScreen({
    method: 'GET',
    path: `${ACCOUNT}/new`,
    name: 'showNewProject',
    calls: [],
    run: showNewProject,
  }),
  action<typeof NewProject, Project>({
    path: `${ACCOUNT}/new`,
    name: 'consoleCreateProject',
    form: NewProject,
    calls: 'createProject',
    renderCalls: [],
    request: ({ form }) => ({ body: { name: (form.name ?? '').trim() } }),
    next: ({ name }, { params }) => projectPath({ slug: params.slug! }, name),
    renderErrors: showNewProject,
  }),
]

async function openConsole(ctx: ConsoleCtx) {
  return { redirectTo: homePath(await homeAccount(ctx)) }
}

/** Returns the account that this browser had open last; else the default team, the only team of a user without projects, or that of the user. */
export async function homeAccount(ctx: ConsoleCtx): Promise<OwnAccount> {
  const [personal, ...teams] = await accountsOf(ctx)
  const open = [personal!, ...teams.filter((team) => team.lacks_factor === 0)]
  const listed =
    open.find(({ slug }) => slug === ctx.lastAccount) ?? open.find(({ id }) => id === personal!.default_team_id)
  if (listed !== undefined) return listed
  const isAlone = open.length === 2 && (await countProjects(ctx, personal!)) === 0
  return open[isAlone ? 1 : 0]!
}

async function showProjects(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof ListQuery>>) {
  const account = await findAccountOfPath(ctx, params)
  const { search, until } = query
  const { projects, pagination } = await ctx.callRoute<Static<typeof ProjectList>>('getProjects', {
    account,
    query: { limit: String(PAGE), search: search || undefined, until },
  })
  const total = await countProjects(ctx, account)
  const newest = await readLatestDeployments(ctx, projects)
  const more = (next: number) =>
    `${accountPath(account)}?${new URLSearchParams({ ...(search && { search }), until: String(next) })}`
  return accountPage(ctx, account, '', {
    title: 'Projects',
    body: html`<div class="head"><h1>Projects${total > 0 && html` <span class="soft">${total > MAX_COUNTED ? `${MAX_COUNTED}+` : total}</span>`}</h1><p class="line">${canInAccount(account, 'project:receive') && html`<a class="btn quiet" href="${accountPath(account, 'receive')}">${icon('download')}Accept a transfer</a>`}${canInAccount(account, 'project:write') && html`<a class="btn primary" href="${accountPath(account, 'new')}">${icon('plus')}New project</a>`}</p></div>
${await invitations(ctx)}
${total > 0 && searchForm(account, search)}
${projects.length > 0 ? html`<ul class="grid">${byNeed(projects, newest).map((project) => card(account, project, failedOf(newest.get(project.id)), ctx.now))}</ul>` : nothing(ctx, account, search)}
<p class="page-links">${until && html`<a href="${accountPath(account)}">Newest</a>`}${pagination.next !== null && html`<a href="${more(pagination.next)}">Older</a>`}</p>`,
  })
}

/** Pending invitations of the user, shown here because this is the first page. */
async function invitations(ctx: ConsoleCtx): Promise<Html | undefined> {
  const received = await selectReceivedInvitations(ctx, ctx.user.userId)
    .limit(MAX_INVITATIONS + 1)
    .execute()
  if (received.length === 0) return undefined
  const shown = received.slice(0, MAX_INVITATIONS)
  return html`<section class="card"><header><h2>Invitations</h2></header><ul class="rows">${shown.map((invitation) => html`<li>You're invited to join ${nameOfTeam(invitation)} as ${sentenceCase(invitation.role)}. <a href="/invitations/${invitation.id}">Review</a></li>`)}</ul>
${received.length > shown.length && html`<footer><a href="/invitations">Show all invitations</a></footer>`}</section>`
}

/** Needs no permission check: the list was loaded before, and roles are never limited to projects. */
function countProjects({ db }: ConsoleCtx, account: OwnAccount): Promise<number> {
  const some = db
    .selectFrom('project')
    .select('id')
    .where('account_id', '=', account.id)
    .limit(MAX_COUNTED + 1)
  return rowCount(db.selectFrom(some.as('some')))
}

function searchForm(account: OwnAccount, search: string | undefined): Html {
  return html`<form class="tools" action="${accountPath(account)}" role="search">
<span class="find">${icon('search')}<input type="search" name="search" value="${search}" aria-label="Search projects by name" placeholder="Search projects"></span>
<button class="btn">Search</button>
</form>`
}

/** Failing and paused projects first. */
function byNeed(projects: readonly Project[], newest: NewestDeployments): Project[] {
  const needs = (project: Project) => Number(Boolean(project.paused) || failedOf(newest.get(project.id)).length > 0)
  return projects.toSorted((a, b) => needs(b) - needs(a))
}

function card(account: OwnAccount, project: Project, failed: readonly LatestDeployment[], now: number): Html {
  const last = project.targets?.production ?? project.latestDeployments?.[0]
  const domain = project.targets?.production?.alias[0]
  const reason = failed[0] && failureReason(failed[0])
  return html`<li class="card hit"><div class="in stack"><div class="line">${tile(project.name, 'm')}<div class="cut"><h2 class="cut"><a class="to" href="${projectPath(account, project.name)}">${project.name}</a></h2>${domain && html`<span class="cut small soft">${domain}</span>`}</div>
${projectStateLabel(project, failed)}</div>
${isInTransfer(project) && html`<p><span class="badge accent">Being transferred</span></p>`}${failed[0] && html`<p>${failedState(account, project.name, failed[0])}${failed.length > 1 && html` <span class="soft small">and ${failed.length - 1} more</span>`}${reason && html`<span class="cut small soft">${reason}</span>`}</p>`}
<div class="stack tight">${last ? html`<span class="cut">${titleOf(last)}</span><div class="line tight one small soft">${commitAuthor(last)}${commitRefs(last)}${relativeTime(last.createdAt, now)}${strip(project.latestDeployments)}</div>` : html`<span class="soft">No deployments yet</span><span class="small soft">Changed ${relativeTime(project.updatedAt, now)}</span>`}</div></div></li>`
}

/** TABLE How the bar of a deployment that has ended looks, and how high it is. */
const BARS: Partial<Record<ReadyState, readonly [look: string, height: number]>> = {
  READY: ['ok', 14],
  ERROR: ['no', 4],
  CANCELED: ['off', 8],
}

/** Draws the latest deployments, the newest last. Fewer than three say nothing more than the card does. */
function strip(latest: Project['latestDeployments']): Html | undefined {
  const ended = latest.filter(({ readyState }) => BARS[readyState] !== undefined)
  if (ended.length < FEWEST_BARS) return undefined
  const failed = ended.filter(({ readyState }) => readyState === 'ERROR').length
  return html`<svg class="strip end" viewBox="0 0 72 16" role="img" aria-label="Of the last ${ended.length} deployments ${failed} failed">${ended.map(
    ({ readyState }, at) => {
      const [look, height] = BARS[readyState]!
      return html`<rect class="${look}" x="${68 - at * 6}" y="${16 - height}" width="4" height="${height}" rx="1"/>`
    },
  )}</svg>`
}

/** Returns whether a transfer is in progress. The project is locked meanwhile. */
export function isInTransfer({ transferStartedAt, transferCompletedAt }: Project): boolean {
  return transferStartedAt !== undefined && transferCompletedAt === undefined
}

/** Renders the state of production. `failed`: failed newest deployments. */
export function projectStateLabel(
  { paused, targets }: Pick<Project, 'paused' | 'targets'>,
  failed: readonly LatestDeployment[],
): Html {
  if (paused) return state('warn', 'Paused', 'paused')
  const live = (targets as Record<string, unknown> | undefined)?.production != null
  if (!live) return state('idle', 'Not deployed yet')
  const isEarlier = failed.some(({ target }) => target === 'production')
  return state('good', isEarlier ? 'Live (earlier deployment)' : 'Live', 'live')
}

function nothing(ctx: ConsoleCtx, account: OwnAccount, search: string | undefined): Html {
  if (search) return html`<p class="card empty">No projects match “${search}”.</p>`
  return html`<div class="card empty"><h2>No projects yet</h2>
<p>A project holds domains, variables and deployments.</p>
${canInAccount(account, 'project:write') && html`<p><a class="btn primary" href="${accountPath(account, 'new')}">Create your first project</a></p>`}
<p class="soft small">From a terminal. The first command prints a line for your shell. Without it, <code>vercel</code> connects to the hosted platform.</p>
${linkCommand(account)}
${shellCommand('vercel project add web')}
${TOKEN_HINT}
${apiCommand(ctx, `/v10/projects?slug=${account.slug}`, { name: 'web' })}
</div>`
}

async function showNewProject(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, '', {
    title: 'New project',
    body: html`<div class="head"><h1>New project</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
${field('name', 'Name', {
  required: true,
  error,
  hint: 'Lowercase letters, digits, ".", "_" and "-", up to 100 characters. It becomes part of deployment URLs.',
  attributes: html`${PLAIN_TEXT} maxlength="100"`,
})}
<p class="line"><button class="btn primary">Create project</button><a class="btn" href="${accountPath(account)}">Cancel</a></p>
</form>`,
  })
}
