/** What stands around every page of the console: where one is, and the ways on. docs/console.md: Addresses. */
import { accountsOf, findOwnAccountBySlug, nameOf, type OwnAccount } from '../pages/acting.ts'
import type { Page } from '../pages/frame.ts'
import { type Html, html } from '../pages/html.ts'
import { type ConsoleCtx, tokenField } from '../pages/screen.ts'

/** TABLE the sections of an account, in the order of the tabs: the end of the address and the words. */
const ACCOUNT_TABS = {
  '': 'Projects',
} as const
/** TABLE the sections of a project, in the order of the tabs. */
const PROJECT_TABS = {
  '': 'Overview',
  variables: 'Variables',
  domains: 'Domains',
  deployments: 'Deployments',
  settings: 'Settings',
} as const

/** Where a page is: an account of the person, and a project of it. */
export type Place = { account: OwnAccount; project?: string; tab: string }

/** The account that an address names. Refuses: not_found 404. */
export function accountIn(ctx: ConsoleCtx, { slug }: Record<string, string>): Promise<OwnAccount> {
  return findOwnAccountBySlug(ctx, slug!)
}

/** `/console/t/acme`, and what follows it. */
export function accountPath({ slug }: Pick<OwnAccount, 'slug'>, section = ''): string {
  return `/console/t/${encodeURIComponent(slug)}${section === '' ? '' : `/${section}`}`
}

/** `/console/t/acme/projects/web`, and what follows it. */
export function projectPath(account: Pick<OwnAccount, 'slug'>, project: string, section = ''): string {
  return accountPath(account, `projects/${encodeURIComponent(project)}${section === '' ? '' : `/${section}`}`)
}

/** A page of the console. `place` is undefined on the pages that are of no account. */
export async function showPage(
  ctx: ConsoleCtx,
  place: Place | undefined,
  page: Pick<Page, 'title' | 'body' | 'images' | 'status' | 'reload'>,
): Promise<Page> {
  const accounts = await accountsOf(ctx)
  return {
    ...page,
    title: place === undefined ? page.title : `${page.title} · ${place.project ?? place.account.slug}`,
    console: html`${bar(ctx, place, accounts)}
${place && tabs(place)}`,
  }
}

function bar(ctx: ConsoleCtx, place: Place | undefined, accounts: readonly OwnAccount[]): Html {
  const { name, username, isOperator } = ctx.visitor
  return html`<header><div class="bar">
<a class="brand" href="/console">Berth</a>
<details class="menu"><summary>${place === undefined ? 'Accounts' : place.account.slug}</summary><div>
${accounts.map((one) => html`<a href="${accountPath(one)}"${one.id === place?.account.id && html` aria-current="true"`}>${nameOf(one)}</a>`)}
</div></details>
<details class="menu right"><summary>${name ?? username}</summary><div>
<a href="/console/account">Your account</a>
${isOperator && html`<a href="/console/operator">Operator</a>`}
<a href="/docs">API reference</a>
<form method="post" action="/sign-out" data-turbo="false">${tokenField(ctx)}<button>Sign out</button></form>
</div></details>
</div></header>`
}

function tabs({ account, project, tab }: Place): Html {
  const table: Record<string, string> = project === undefined ? ACCOUNT_TABS : PROJECT_TABS
  const to = (end: string) => (project === undefined ? accountPath(account, end) : projectPath(account, project, end))
  return html`<nav class="tabs" aria-label="${project ?? account.slug}"><ul>
${Object.entries(table).map(
  ([end, words]) => html`<li><a href="${to(end)}"${end === tab && html` aria-current="page"`}>${words}</a></li>`,
)}
</ul></nav>`
}
