/** What stands around every page of the console: where one is, and the ways on. docs/console.md: Addresses. */
import { accountsOf, findOwnAccountBySlug, nameOf, type OwnAccount } from '../pages/acting.ts'
import type { Page } from '../pages/frame.ts'
import { type Html, html } from '../pages/html.ts'
import { type PersonCtx, tokenField } from '../pages/screen.ts'
import type { Permission } from '../permissions/roles.ts'
import { permissionsOf } from '../permissions/scopes.ts'

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

/** Where a page is: an account of the person, and a project of it; or what is of the person alone. */
export type Place = { account: OwnAccount; project?: string; tab: string } | { person: true; tab: string }

/** The account that an address names. Refuses: not_found 404. */
export function accountIn(ctx: PersonCtx, { slug }: Record<string, string>): Promise<OwnAccount> {
  return findOwnAccountBySlug(ctx, slug!)
}

/** Whether the role of the person in an account allows something. Pages leave out what the route would refuse. */
export function may({ role }: OwnAccount, permission: Permission): boolean {
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

/** A page of the console. `place` is undefined on the pages that are of no account; `nav` is what such a page has in the place of tabs. */
export async function showPage(
  ctx: PersonCtx,
  place: Place | undefined,
  page: Pick<Page, 'title' | 'body' | 'images' | 'status' | 'reload' | 'scripts'>,
  nav?: Html,
): Promise<Page> {
  const accounts = await accountsOf(ctx)
  return {
    ...page,
    title: place === undefined ? page.title : `${page.title} · ${nameOfPlace(place)}`,
    console: html`${bar(ctx, place, accounts)}
${place ? tabs(place) : nav}`,
  }
}

function nameOfPlace(place: Place): string {
  return 'person' in place ? 'your account' : (place.project ?? place.account.slug)
}

/** The project in which one is: without it the tabs of one project look as those of another. */
function crumb(place: Place | undefined): Html | undefined {
  if (place === undefined || !('account' in place) || place.project === undefined) return undefined
  return html`<a class="crumb" href="${projectPath(place.account, place.project)}">${place.project}</a>`
}

function bar(ctx: PersonCtx, place: Place | undefined, accounts: readonly OwnAccount[]): Html {
  const { name, username, isOperator } = ctx.visitor
  const account = place !== undefined && 'account' in place ? place.account : undefined
  return html`<header><div class="bar">
<a class="brand" href="/console">Berth</a>
<details class="menu"><summary>${account?.slug ?? 'Accounts'}</summary><div>
${accounts.map((one) => html`<a href="${accountPath(one)}"${one.id === account?.id && html` aria-current="true"`}>${nameOf(one)}</a>`)}
<a href="/console/teams/new">Make a team</a>
</div></details>
${crumb(place)}
<form class="search" action="/console/search" role="search" aria-label="Search"><input type="search" name="q" aria-label="Search" placeholder="Search" aria-keyshortcuts="/ Control+K" data-search autocomplete="off" spellcheck="false">${account && html`<input type="hidden" name="in" value="${account.slug}">`}</form>
<details class="menu right"><summary>${name ?? username}</summary><div>
<a href="/console/account">Your account</a>
${isOperator && html`<a href="/console/operator">Operator</a>`}
<a href="/docs">API reference</a>
<form method="post" action="/sign-out" data-turbo="false">${tokenField(ctx)}<button>Sign out</button></form>
</div></details>
</div></header>`
}

function tabs(place: Place): Html {
  const [label, table, to] = tabsOf(place)
  return html`<nav class="tabs" aria-label="${label}"><ul>
${table.map(
  ([end, words]) => html`<li><a href="${to(end)}"${end === place.tab && html` aria-current="page"`}>${words}</a></li>`,
)}
</ul></nav>`
}

function tabsOf(place: Place): [label: string, table: [end: string, words: string][], to: (end: string) => string] {
  if ('person' in place) return ['Your account', Object.entries(PERSON_TABS), personPath]
  const { account, project } = place
  if (project !== undefined) return [project, Object.entries(PROJECT_TABS), (end) => projectPath(account, project, end)]
  const shown = ACCOUNT_TABS.filter(
    ([end, , needs]) => may(account, needs) && (account.kind === 'team' || !OF_TEAMS.includes(end)),
  )
  return [account.slug, shown.map(([end, words]) => [end, words]), (end) => accountPath(account, end)]
}
