/** Header, account menu and tabs of every console page. docs/console.md: URLs. */

import type { Page } from '../platform/pages/frame.ts'
import { type Html, html } from '../platform/pages/html.ts'
import { accountsOf, findOwnAccountBySlug, nameOf, type OwnAccount } from '../platform/pages/own-accounts.ts'
import { csrfFields, type UserPageCtx } from '../platform/pages/screen.ts'
import type { Permission } from '../platform/permissions/roles.ts'
import { permissionsOf } from '../platform/permissions/scopes.ts'

/** Returns the path of a deployment. */
export function deploymentPath(account: Pick<OwnAccount, 'slug'>, project: string, id: string, section = ''): string {
  const end = section === '' ? '' : `/${section}`
  return projectPath(account, project, `deployments/${encodeURIComponent(id)}${end}`)
}

/** TABLE Tabs of an account: path suffix, label and required permission. */
const ACCOUNT_TABS: readonly (readonly [end: string, words: string, needs: Permission])[] = [
  ['', 'Projects', 'project:read'],
  ['integrations', 'Integrations', 'installation:read'],
  ['apps', 'Apps', 'integration:read'],
  ['webhooks', 'Webhooks', 'webhook:read'],
  ['drains', 'Log drains', 'drain:read'],
  ['members', 'Members', 'team:read'],
  ['tokens', 'Tokens', 'token:read'],
  ['activity', 'Activity', 'project:read'],
  ['settings', 'Settings', 'team:read'],
]
/** Tabs that only teams have. */
const OF_TEAMS: readonly string[] = ['apps', 'members', 'settings']
/** TABLE Tabs of the session user. */
const PERSON_TABS = {
  '': 'Profile',
  security: 'Password and sessions',
  'security/factors': 'Second factors',
  tokens: 'Tokens',
} as const
/** TABLE Tabs of a project. */
const PROJECT_TABS = {
  '': 'Overview',
  variables: 'Variables',
  domains: 'Domains',
  deployments: 'Deployments',
  settings: 'Settings',
} as const

export type Crumb = readonly [words: string, path: string]

/** `table`: path suffixes with labels. `to`: the path of a suffix. */
export type Tabs = {
  name: string
  table: readonly (readonly [end: string, words: string])[]
  to: (end: string) => string
}

/** An account or one of its projects; the pages of the session user; or a part with its own tabs. */
export type ConsoleLocation =
  | { account: OwnAccount; project?: string; tab: string }
  | { person: true; tab: string }
  | { tabs: Tabs; tab: string }

/** Returns the account that a path names. Refuses: not_found 404. */
export function findAccountOfPath(ctx: UserPageCtx, { slug }: Record<string, string>): Promise<OwnAccount> {
  return findOwnAccountBySlug(ctx, slug!)
}

/** Returns whether the role of the user allows something. Pages omit actions that routes would refuse. */
export function canInAccount({ role }: OwnAccount, permission: Permission): boolean {
  return permissionsOf(role, null).has(permission)
}

/** Returns `/console/t/acme`, with a section. */
export function accountPath({ slug }: Pick<OwnAccount, 'slug'>, section = ''): string {
  return `/console/t/${encodeURIComponent(slug)}${section === '' ? '' : `/${section}`}`
}

/** Returns `/console/t/acme/projects/web`, with a section. */
export function projectPath(account: Pick<OwnAccount, 'slug'>, project: string, section = ''): string {
  return accountPath(account, `projects/${encodeURIComponent(project)}${section === '' ? '' : `/${section}`}`)
}

/** Returns `/console/account`, with a section. */
export function personPath(section = ''): string {
  return `/console/account${section === '' ? '' : `/${section}`}`
}

/** `within`: breadcrumbs between the tab and the page. A page titled like its tab is the page of the tab. */
type Content = Pick<Page, 'title' | 'body' | 'images' | 'status' | 'reload' | 'scripts'> & { within?: readonly Crumb[] }

/** Renders a console page. `place`: undefined for pages outside an account. */
export async function consolePage(
  ctx: UserPageCtx,
  place: ConsoleLocation | undefined,
  content: Content,
): Promise<Page> {
  const { within, ...page } = content
  const accounts = await accountsOf(ctx)
  const tabs = place && tabsOf(place)
  return {
    ...page,
    title: place === undefined ? page.title : `${page.title} · ${nameOfPlace(place)}`,
    body: html`${place && tabs && crumbs(tabs, place.tab, content)}${page.body}`,
    console: html`${bar(ctx, place, accounts)}
${place && tabs && strip(tabs, place.tab)}`,
  }
}

function nameOfPlace(place: ConsoleLocation): string {
  if ('person' in place) return 'your account'
  return 'tabs' in place ? place.tabs.name : (place.project ?? place.account.slug)
}

function crumbs({ table, to }: Tabs, tab: string, { title, within }: Content): Html | undefined {
  const words = table.find(([end]) => end === tab)?.[1]
  if (words === undefined || (within === undefined && title === words)) return undefined
  const way: Crumb[] = [[words, to(tab)], ...(within ?? [])]
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol>${way.map(([one, path]) => html`<li><a href="${path}">${one}</a></li>`)}</ol></nav>
`
}

function bar(ctx: UserPageCtx, place: ConsoleLocation | undefined, accounts: readonly OwnAccount[]): Html {
  const { name, username, isOperator } = ctx.user
  const account = place !== undefined && 'account' in place ? place.account : undefined
  const called = name ?? username
  return html`<header><div class="bar">
${trail(place, accounts)}
<form class="search" action="/console/search" role="search" aria-label="Search"><input type="search" name="q" aria-label="Search" placeholder="Search" aria-keyshortcuts="/ Control+K" data-search autocomplete="off" spellcheck="false">${account && html`<input type="hidden" name="in" value="${account.slug}">`}</form>
<details class="menu right"><summary><span class="person" aria-hidden="true">${[...called][0]}</span><span class="called">${called}</span></summary><div>
<a href="/console/account">Your account</a>
${isOperator && html`<a href="/console/operator">Operator</a>`}
<a href="/docs">API reference</a>
<form method="post" action="/sign-out" data-turbo="false">${csrfFields(ctx)}<button>Sign out</button></form>
</div></details>
</div></header>`
}

/** Account menu and project. Without it, the tabs of two projects look the same. */
function trail(place: ConsoleLocation | undefined, accounts: readonly OwnAccount[]): Html {
  const account = place !== undefined && 'account' in place ? place.account : undefined
  const project = place !== undefined && 'account' in place ? place.project : undefined
  return html`<nav class="trail" aria-label="Where you are"><a class="brand" href="/console">Berth</a>
<details class="menu"><summary>${hereIn(place)}${account?.kind === 'user' && html` <span class="tag">personal</span>`}</summary><div>
${accounts.map((one) => html`<a href="${accountPath(one)}"${one.id === account?.id && html` aria-current="true"`}>${nameOf(one)}</a>`)}
<a href="/console/teams/new">New team</a>
</div></details>
${account !== undefined && project !== undefined && html`<a href="${projectPath(account, project)}">${project}</a>`}</nav>`
}

function hereIn(place: ConsoleLocation | undefined): string {
  if (place === undefined) return 'Accounts'
  if ('person' in place) return 'Your account'
  return 'tabs' in place ? place.tabs.name : place.account.slug
}

function strip({ name, table, to }: Tabs, tab: string): Html {
  return html`<nav class="tabs" aria-label="${name}"><ul>
${table.map(
  ([end, words]) => html`<li><a href="${to(end)}"${end === tab && html` aria-current="page"`}>${words}</a></li>`,
)}
</ul></nav>`
}

/** Returns the tabs that the user can see. */
export function tabsOf(place: ConsoleLocation): Tabs {
  if ('tabs' in place) return place.tabs
  if ('person' in place) return { name: 'Your account', table: Object.entries(PERSON_TABS), to: personPath }
  const { account, project } = place
  if (project !== undefined)
    return { name: project, table: Object.entries(PROJECT_TABS), to: (end) => projectPath(account, project, end) }
  const shown = ACCOUNT_TABS.filter(
    ([end, , needs]) => canInAccount(account, needs) && (account.kind === 'team' || !OF_TEAMS.includes(end)),
  )
  return {
    name: account.slug,
    table: shown.map(([end, words]) => [end, words] as const),
    to: (end) => accountPath(account, end),
  }
}
