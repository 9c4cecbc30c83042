import { icon } from '../platform/pages/face/icons.ts'
import { note } from '../platform/pages/face/notes.ts'
import { type Html, html } from '../platform/pages/html.ts'
import type { OwnAccount } from '../platform/pages/own-accounts.ts'
import { csrfFields, type UserPageCtx } from '../platform/pages/screen.ts'

/** Renders the heading of a page with its actions. */
export function heading(title: string, ...actions: (Html | undefined | false)[]): Html {
  return html`<div class="head"><h1>${title}</h1>${actions.filter((action) => action !== undefined && action !== false)}</div>`
}

/** Renders the title of a card and what it is for. Wide windows show them left of the fields, so that all cards of a page have one width. */
export function cardTitle(title: string, about?: Html | string): Html {
  return html`<div class="about"><h2>${title}</h2>${about && html`<p>${about}</p>`}</div>`
}

type ButtonOptions = {
  /** Accessible name if the button text is ambiguous. Starts with the button text. */
  label?: string | undefined
  look?: string | undefined
  fields?: Record<string, string>
  /** The response is a page that is shown once, not a redirect. */
  showsOnce?: true
}

/** Renders a form with a single button. */
export function button(
  ctx: UserPageCtx,
  path: string,
  words: string,
  { label, look = 'small', fields = {}, showsOnce }: ButtonOptions = {},
): Html {
  return html`<form method="post" action="${path}"${showsOnce && html` data-turbo="false"`}>${csrfFields(ctx)}${Object.entries(
    fields,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button class="btn ${look}"${label && html` aria-label="${label}"`}>${words}</button></form>`
}

/** Renders an action that cannot be undone or that removes access. `what`: the consequence; `act`: its button or form. */
export function dangerCard(title: string, what: Html | string, act: Html): Html {
  return html`<section class="card in stack form danger-zone">${cardTitle(title, what)}
${act}</section>`
}

/**
 * Renders a button that needs a second click, for actions that cannot be undone or that remove access. Works without script. `look`: of the first
 * click; `asks`: what happens, where nothing around the button says it. Its id is that of its form, so a live page keeps it open in its own row.
 */
export function confirmedButton(
  ctx: UserPageCtx,
  path: string,
  words: string,
  { label, look = '', asks, ...options }: ButtonOptions & { asks?: string } = {},
): Html {
  const first = look === 'primary' ? look : `bad ${look}`
  const second = { ...options, label, look: look.includes('small') ? 'danger small' : 'danger' }
  const id = ['ask', path, ...Object.values(options.fields ?? {})].join(':')
  return html`<details class="twice" id="${id}"><summary class="btn ${first}"${label && html` aria-label="${label}…"`}>${words}…</summary>
${asks && html`<p>${asks}</p>`}${button(ctx, path, words, second)}</details>`
}

/** Renders a menu of actions behind three dots. Its id keeps it open with its thing on a live page. `of`: the name of the thing. */
export function actionMenu(id: string, of: string, actions: Html): Html {
  return html`<details class="menu right" name="menu" id="menu:${id}"><summary class="btn quiet small square" aria-label="Actions for ${of}">${icon('ellipsis')}</summary><div class="pop">${actions}</div></details>`
}

/** Renders the search form of a list. `by`: a short placeholder for narrow screens. */
export function searchForm(path: string, label: string, by: string, search: string | undefined): Html {
  return html`<form class="tools" action="${path}" role="search">
<span class="find">${icon('search')}<input type="search" name="search" value="${search}" aria-label="${label}" placeholder="${by}" maxlength="100"></span>
<button class="btn">Search</button>
</form>`
}

/** Renders the filters of a list. Narrow screens show them collapsed unless a filter is set (`isSet`). */
export function filterForm(path: string, isSet: boolean, fields: Html): Html {
  return html`<details class="filters"${isSet && html` open`}><summary>Filters</summary>
<form class="tools" action="${path}" role="search" aria-label="Filters">
${fields}
<button class="btn">Filter</button></form></details>`
}

/** Renders the links to the newest and older rows. `query`: the current query, with the `until` of this page. */
export function paginationLinks(
  path: string,
  query: Record<string, string | undefined>,
  next: number | null,
): Html | undefined {
  const { until, ...others } = query
  const to = (more: Record<string, string>) => {
    const pairs = Object.entries({ ...others, ...more }).filter((pair): pair is [string, string] => Boolean(pair[1]))
    return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
  }
  if (until === undefined && next === null) return undefined
  return html`<p class="page-links">${until !== undefined && html`<a href="${to({})}">Newest</a>`}${
    next !== null && html`<a href="${to({ until: String(next) })}" rel="next">Older</a>`
  }</p>`
}

/** Returns an API constant in sentence case, such as `Owner` for `OWNER`. */
export function sentenceCase(constant: string): string {
  return constant.charAt(0).toUpperCase() + constant.slice(1).toLowerCase().replaceAll('-', ' ')
}

/** Returns `1 project`, `2 projects`. */
export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** Renders a button that copies the text of the element before it. Needs script. `what` completes its accessible name. */
export function copyButton(what: string): Html {
  return html`<button type="button" class="btn quiet small copies" data-copy aria-label="Copy the ${what}">${icon('copy')}<span>Copy</span></button>`
}

/** Renders a secret on the only page that shows it. */
export function oneTimeSecret(words: string, secret: string): Html {
  return html`<section class="card in stack"><h2>${words}</h2>
${note('info', "Copy it now. You won't see it again.")}
<div class="code"><pre class="secret">${secret}</pre>${copyButton('secret')}</div></section>`
}

/** Renders a command for a terminal with a button that copies it. */
export function shellCommand(command: string): Html {
  return html`<div class="code"><pre>${command}</pre>${copyButton('command')}</div>`
}

/** Renders the command that points the command line to this service. */
export function linkCommand({ kind, slug }: Pick<OwnAccount, 'kind' | 'slug'>): Html {
  return shellCommand(`npx berth link-cli${kind === 'team' ? ` --team ${slug}` : ''}`)
}

/** Renders a POST to the API as a command, with the address of this service. */
export function apiCommand({ deps }: UserPageCtx, path: string, body: object): Html {
  return shellCommand(
    `curl -X POST "${deps.origin()}${path}" -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' -d '${JSON.stringify(body)}'`,
  )
}

/** What a command for the API needs first. */
export const TOKEN_HINT: Html = html`<p class="soft small">With the API and a token in <code>TOKEN</code> (<a href="/console/account/tokens/new">New token</a>):</p>`
