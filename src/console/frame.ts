/** Header, account menu and tabs of every console page. docs/console.md: URLs. */

import { icon } from '../platform/pages/face/icons.ts'
import type { Page } from '../platform/pages/frame.ts'
import { type Html, html } from '../platform/pages/html.ts'
import { accountsOf, findOwnAccountBySlug, nameOf, type OwnAccount } from '../platform/pages/own-accounts.ts'
import type { UserPageCtx } from '../platform/pages/screen.ts'
import type { Permission } from '../platform/permissions/roles.ts'
import { permissionsOf } from '../platform/permissions/scopes.ts'
import { Refusal } from '../platform/refusals/refusal.ts'
import { withShownProject } from './shell/shown-project.ts'
import { type Section, sideBar, type Tabs } from './shell/side.ts'
import { inTimeZone } from './time.ts'

/** Returns the path of a deployment. */
export function deploymentPath(account: Pick<OwnAccount, 'slug'>, project: string, id: string, section = ''): string {
  const end = section === '' ? '' : `/${section}`
  return projectPath(account, project, `deployments/${encodeURIComponent(id)}${end}`)
}

/** TABLE Sections of an account, with the permission that each needs. */
const ACCOUNT_SECTIONS: readonly (readonly [section: Section, needs: Permission])[] = [
  [['', 'Projects', 'layers'], 'project:read'],
  [['variables', 'Shared variables', 'key-round'], 'env:read'],
  [['activity', 'Activity', 'activity'], 'project:read'],
  [['integrations', 'Integrations', 'blocks', 'Connect'], 'installation:read'],
  [['apps', 'Apps', 'plug-2', 'Connect'], 'integration:read'],
  [['webhooks', 'Webhooks', 'webhook', 'Connect'], 'webhook:read'],
  [['drains', 'Log drains', 'scroll-text', 'Connect'], 'drain:read'],
  [['members', 'Members', 'users', 'Team'], 'team:read'],
  [['tokens', 'Tokens', 'fingerprint', 'Team'], 'token:read'],
  [['settings', 'Settings', 'settings', 'Team'], 'team:read'],
]
/** Sections that only teams have. */
const OF_TEAMS: readonly string[] = ['apps', 'members', 'settings']
/** TABLE Sections of the session user. */
const PERSON_SECTIONS: readonly Section[] = [
  ['', 'Profile', 'user'],
  ['security', 'Password and sessions', 'lock'],
  ['security/factors', 'Second factors', 'shield-check'],
  ['tokens', 'Tokens', 'fingerprint'],
]
/** TABLE Sections of a project. */
const PROJECT_SECTIONS: readonly Section[] = [
  ['', 'Overview', 'house'],
  ['deployments', 'Deployments', 'rocket'],
  ['variables', 'Variables', 'key-round'],
  ['domains', 'Domains', 'globe'],
  ['activity', 'Activity', 'activity'],
  ['settings', 'Settings', 'settings'],
]

export type Crumb = readonly [words: string, path: string]

/** An account or one of its projects; the pages of the session user; or a part with its own tabs. */
export type ConsoleLocation =
  | { account: OwnAccount; project?: string; tab: string }
  | { person: true; tab: string }
  | { tabs: Tabs; tab: string }

/** Returns the account that a path names. Refuses: not_found 404. */
export function findAccountOfPath(ctx: UserPageCtx, { slug }: Record<string, string>): Promise<OwnAccount> {
  return findOwnAccountBySlug(ctx, slug!)
}

/** Returns what a route answers; undefined for what is gone. */
export async function unlessGone<A>(request: Promise<A>): Promise<A | undefined> {
  try {
    return await request
  } catch (error) {
    if (error instanceof Refusal && error.key === 'not_found') return undefined
    throw error
  }
}

/** Returns whether the role of the user allows all of something. Pages omit actions that routes would refuse. */
export function canInAccount({ role }: OwnAccount, ...needs: Permission[]): boolean {
  const permissions = permissionsOf(role, null)
  return needs.every((permission) => permissions.has(permission))
}

/** Returns `/console/t/acme`, with a section. */
export function accountPath({ slug }: Pick<OwnAccount, 'slug'>, section = ''): string {
  return `/console/t/${encodeURIComponent(slug)}${section === '' ? '' : `/${section}`}`
}

/** Returns the first section of an account that the role can see: its projects, mostly. */
export function homePath(account: OwnAccount): string {
  const { table, to } = tabsOf({ account, tab: '' })
  return to(table[0]![0])
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
  const body = html`${place && tabs && crumbs(tabs, place.tab, content)}${page.body}`
  const { account, project } = place !== undefined && 'account' in place ? place : {}
  return {
    ...page,
    account: account?.slug,
    title: place === undefined ? page.title : `${page.title} · ${nameOfPlace(place)}`,
    body: inTimeZone(
      account && project !== undefined ? await withShownProject(ctx, account, project, body) : body,
      ctx.timeZone,
    ),
    console: navigation(ctx, place, accounts),
  }
}

/** Renders a page of an account. */
export function accountPage(ctx: UserPageCtx, account: OwnAccount, tab: string, content: Content): Promise<Page> {
  return consolePage(ctx, { account, tab }, content)
}

/** Renders a page of a project. */
export function projectPage(
  ctx: UserPageCtx,
  account: OwnAccount,
  project: string,
  tab: string,
  content: Content,
): Promise<Page> {
  return consolePage(ctx, { account, project, tab }, content)
}

/** Renders a page of the session user. */
export function personPage(ctx: UserPageCtx, tab: string, content: Content): Promise<Page> {
  return consolePage(ctx, { person: true, tab }, content)
}

function navigation(ctx: UserPageCtx, place: ConsoleLocation | undefined, accounts: readonly OwnAccount[]): Html {
  const { account, project } = place !== undefined && 'account' in place ? place : {}
  return sideBar(ctx, {
    here: { name: hereIn(place), slug: account?.slug, personal: account?.kind === 'user' },
    accounts: accounts.map((each) => ({
      called: each.name ?? each.slug,
      name: nameOf(each),
      path: homePath(each),
      current: each.id === account?.id,
    })),
    project:
      account && project !== undefined
        ? { name: project, path: projectPath(account, project), account: tabsOf({ account, tab: '' }) }
        : undefined,
    sections: place && { ...tabsOf(place), tab: place.tab },
  })
}

function nameOfPlace(place: ConsoleLocation): string {
  if ('person' in place) return 'your account'
  return 'tabs' in place ? place.tabs.name : (place.project ?? place.account.slug)
}

function crumbs({ table, to }: Tabs, tab: string, { title, within }: Content): Html | undefined {
  const words = table.find(([end]) => end === tab)?.[1]
  if (words === undefined || (within === undefined && title === words)) return undefined
  const way: Crumb[] = [[words, to(tab)], ...(within ?? [])]
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol>${way.map(([label, path], at) => html`<li><a href="${path}">${at === 0 && icon('chevron-left')}${label}</a></li>`)}</ol></nav>
`
}

function hereIn(place: ConsoleLocation | undefined): string {
  if (place === undefined) return 'Accounts'
  if ('person' in place) return 'Your account'
  return 'tabs' in place ? place.tabs.name : (place.account.name ?? place.account.slug)
}

/** Returns the tabs that the user can see. */
export function tabsOf(place: ConsoleLocation): Tabs {
  if ('tabs' in place) return place.tabs
  if ('person' in place) return { name: 'Your account', table: PERSON_SECTIONS, to: personPath }
  const { account, project } = place
  if (project !== undefined)
    return { name: project, table: PROJECT_SECTIONS, to: (end) => projectPath(account, project, end) }
  const shown = ACCOUNT_SECTIONS.filter(
    ([[end], needs]) => canInAccount(account, needs) && (account.kind === 'team' || !OF_TEAMS.includes(end)),
  )
  return {
    name: account.slug,
    table: shown.map(([section]) => section),
    to: (end) => accountPath(account, end),
  }
}
