/** The side navigation of a console page; a head and a strip in narrow windows. docs/console.md: URLs. */
import { type IconName, icon } from '../../platform/pages/face/icons.ts'
import { avatar, tile } from '../../platform/pages/face/initials.ts'
import { BRAND_LINK } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { csrfFields, type UserPageCtx } from '../../platform/pages/screen.ts'

/** TABLE The key after `g` of a section, by its path suffix. It stands in the link, and the script of the keys reads it there. docs/console.md: Keyboard navigation. */
const SECTION_KEYS: Readonly<Record<string, string>> = {
  deployments: 'e',
  deliveries: 'd',
  variables: 'v',
  domains: 'd',
  members: 'm',
  activity: 'a',
  audit: 'a',
  integrations: 'i',
  apps: 'b',
  webhooks: 'w',
  drains: 'l',
  tokens: 't',
  settings: 's',
  people: 'u',
  teams: 'e',
  health: 'h',
  backups: 'k',
  runners: 'r',
}
const PROJECTS_KEY = 'p'
const OVERVIEW_KEY = 'o'

/** A section of a place: path suffix, label, icon, and its group; none stands at the top. */
export type Section = readonly [end: string, words: string, icon: IconName, group?: string]

/** `to`: the path of a suffix. */
export type Tabs = { name: string; table: readonly Section[]; to: (end: string) => string }

/** An account in the menu. `called`: as the head says it; `name`: with its slug. */
type AccountLink = { called: string; name: string; path: string; current: boolean }

export type Side = {
  /** What the head says of the place. `slug`: of the account that a search looks in. */
  here: { name: string; slug: string | undefined; personal: boolean }
  accounts: readonly AccountLink[]
  /** The project that one is in, and its account: the way back, and what the palette finds there. */
  project: { name: string; path: string; account: Tabs } | undefined
  sections: (Tabs & { tab: string }) | undefined
}

/** Renders the navigation. */
export function sideBar(ctx: UserPageCtx, { here, accounts, project, sections }: Side): Html {
  return html`<header class="side">
<div class="side-top">${BRAND_LINK}
<details class="menu switcher" name="menu"><summary>${here.slug === undefined ? html`<span class="tile" aria-hidden="true">${icon('layers')}</span>` : tile(here.name)}<span class="cut">${here.name}</span>${here.personal && html`<span class="badge">personal</span>`}${project && html`<span class="at only-narrow">${project.name}</span>`}<span class="unseen">, switch account</span>${icon('chevrons-up-down')}</summary><div class="pop"><p>Accounts</p>
${accounts.map(({ called, name, path, current }) => html`<a href="${path}"${current && html` aria-current="true"`}>${tile(called)}<span class="cut">${name}</span>${current && html`<span class="tick">${icon('check')}</span>`}</a>`)}
<hr><a href="/console/teams/new">${icon('plus')}New team</a></div></details></div>
<form class="find only-wide" action="/console/search" role="search" aria-label="Search">${icon('search')}<input type="search" name="q" aria-label="Search" placeholder="Search" aria-keyshortcuts="/ Control+K" data-search autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>${here.slug !== undefined && html`<input type="hidden" name="in" value="${here.slug}">`}</form>
<a class="btn quiet square only-narrow" href="/console/search${here.slug !== undefined && `?in=${encodeURIComponent(here.slug)}`}" aria-label="Search">${icon('search')}</a>
${sections && navigation(sections, project)}
${project && accountSections(project.account)}
<div class="side-foot">${ctx.user.isOperator && html`<a href="/console/operator">${icon('ship-wheel')}Operator</a>`}
${userMenu(ctx)}</div>
</header>`
}

function navigation({ name, table, to, tab }: NonNullable<Side['sections']>, project: Side['project']): Html {
  const groups = [...Map.groupBy(table, ([, , , group]) => group)]
  return html`<nav class="tabs" aria-label="${name}">${
    project &&
    html`<ul class="only-wide"><li class="back"><a href="${project.account.to('')}" data-go="${PROJECTS_KEY}">${icon('arrow-left')}Projects</a></li></ul>
<p class="here">${tile(project.name)}<a class="cut" href="${project.path}">${project.name}</a></p>`
  }${groups.map(([group, sections]) => {
    const id = group && `group-${group.toLowerCase()}`
    return html`${group && html`<p id="${id}">${group}</p>`}<ul${id && html` aria-labelledby="${id}"`}>${sections.map(
      ([end, words, name]) =>
        html`<li><a href="${to(end)}"${goKey(end, words)}${end === tab && html` aria-current="page"`}>${icon(name)}${words}</a></li>`,
    )}</ul>`
  })}</nav>`
}

/** For the palette: a page of a project shows no other way to them. */
function accountSections({ table, to }: Tabs): Html {
  const others = table.filter(([end]) => end !== '')
  return html`<ul hidden data-account>${others.map(([end, words]) => html`<li><a href="${to(end)}">${words}</a></li>`)}</ul>`
}

function goKey(end: string, words: string): Html | undefined {
  const first = words === 'Projects' ? PROJECTS_KEY : words === 'Overview' ? OVERVIEW_KEY : undefined
  const key = end === '' ? first : SECTION_KEYS[end]
  return key === undefined ? undefined : html` data-go="${key}"`
}

function userMenu(ctx: UserPageCtx): Html {
  const { name, username, isOperator } = ctx.user
  const called = name ?? username
  return html`<details class="menu up me" name="menu"><summary>${avatar(called, '', username)}<span class="cut called">${called}</span><span class="unseen">, your account</span>${icon('ellipsis')}</summary><div class="pop">
<a href="/console/account">${icon('user')}Your account</a>
<a href="/console/account/security">${icon('shield-check')}Password and sessions</a>
${isOperator && html`<a href="/console/operator">${icon('ship-wheel')}Operator</a>`}
<a href="/docs">${icon('book-open')}API reference</a><hr>
<form method="post" action="/sign-out" data-turbo="false">${csrfFields(ctx)}<button>${icon('log-out')}Sign out</button></form>
</div></details>`
}
