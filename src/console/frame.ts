/** What stands around every page of the console: where one is, and the ways on. docs/console.md: Addresses. */

import type { Page } from '../platform/pages/frame.ts'
import { type Html, html } from '../platform/pages/html.ts'
import { accountsOf, findOwnAccountBySlug, nameOf, type OwnAccount } from '../platform/pages/own-accounts.ts'
import { csrfFields, type UserPageCtx } from '../platform/pages/screen.ts'
import type { Permission } from '../platform/permissions/roles.ts'
import { permissionsOf } from '../platform/permissions/scopes.ts'

/** The page of a deployment. */
export function deploymentPath(account: Pick<OwnAccount, 'slug'>, project: string, id: string, section = ''): string {
  const end = section === '' ? '' : `/${section}`
  return projectPath(account, project, `deployments/${encodeURIComponent(id)}${end}`)
}

/** TABLE the sections of an account, in the order of the tabs: the end of the address, the words, and the right to see it. */
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
/** What only a team has. */
const OF_TEAMS: readonly string[] = ['apps', 'members', 'settings']
/** TABLE the pages of the person. */
const PERSON_TABS = {
  '': 'Profile',
  security: 'Password and sessions',
  'security/factors': 'Second factors',
  tokens: 'Tokens',
} as const
/** TABLE the sections of a project, in the order of the tabs. */
const PROJECT_TABS = {
  '': 'Overview',
  variables: 'Variables',
  domains: 'Domains',
  deployments: 'Deployments',
  settings: 'Settings',
} as const

/** A page and its address, in the order of the way to it. */
export type Crumb = readonly [words: string, path: string]

/** The tabs of a part of the console: what it is called, the end of each address with its words, and the address itself. */
export type Tabs = {
  name: string
  table: readonly (readonly [end: string, words: string])[]
  to: (end: string) => string
}

/** Where a page is: an account of the person, and a project of it; what is of the person alone; or a part with tabs of its own. */
export type ConsoleLocation =
  | { account: OwnAccount; project?: string; tab: string }
  | { person: true; tab: string }
  | { tabs: Tabs; tab: string }

/** The account that an address names. Refuses: not_found 404. */
export function findAccountOfPath(ctx: UserPageCtx, { slug }: Record<string, string>): Promise<OwnAccount> {
  return findOwnAccountBySlug(ctx, slug!)
}

/** Whether the role of the person in an account allows something. Pages leave out what the route would refuse. */
export function canInAccount({ role }: OwnAccount, permission: Permission): boolean {
  return permissionsOf(role, null).has(permission)
}

/** `/console/t/acme`, and what follows it. */
export function accountPath({ slug }: Pick<OwnAccount, 'slug'>, section = ''): string {
  return `/console/t/${encodeURIComponent(slug)}${section === '' ? '' : `/${section}`}`
}

/** `/console/t/acme/projects/web`, and what follows it. */
export function projectPath(account: Pick<OwnAccount, 'slug'>, project: string, section = ''): string {
  return accountPath(account, `projects/${encodeURIComponent(project)}${section === '' ? '' : `/${section}`}`)
}

/** `/console/account`, and what follows it. */
export function personPath(section = ''): string {
  return `/console/account${section === '' ? '' : `/${section}`}`
}

/** What a page says of itself. `within`: the pages between its tab and itself; a page that is called as its tab is the one of the tab. */
type Content = Pick<Page, 'title' | 'body' | 'images' | 'status' | 'reload' | 'scripts'> & { within?: readonly Crumb[] }

/** A page of the console. `place` is undefined on the pages that are of no account. */
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

/** The way back from a page below a tab. */
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

/** Where one is: the account, in a menu of all of them, and the project. Without it the tabs of one project look as those of another. */
function trail(place: ConsoleLocation | undefined, accounts: readonly OwnAccount[]): Html {
  const account = place !== undefined && 'account' in place ? place.account : undefined
  const project = place !== undefined && 'account' in place ? place.project : undefined
  return html`<nav class="trail" aria-label="Where you are"><a class="brand" href="/console">Berth</a>
<details class="menu"><summary>${hereIn(place)}${account?.kind === 'user' && html` <span class="tag">personal</span>`}</summary><div>
${accounts.map((one) => html`<a href="${accountPath(one)}"${one.id === account?.id && html` aria-current="true"`}>${nameOf(one)}</a>`)}
<a href="/console/teams/new">Make a team</a>
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

/** The tabs that the person sees there. */
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
