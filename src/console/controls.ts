/** Buttons, ways to older rows, and secrets that are shown once: what pages of the console have beside fields and tables. */
import { type Html, html } from '../platform/pages/html.ts'
import { csrfFields, type UserPageCtx } from '../platform/pages/screen.ts'

/** The heading of a page, with what can be done beside it. */
export function heading(title: string, ...beside: (Html | undefined | false)[]): Html {
  return html`<div class="top"><h1>${title}</h1>${beside.filter((one) => one !== undefined && one !== false)}</div>`
}

type ButtonOptions = {
  /** What the button does to what, where its words alone do not say it. It begins with the words. */
  label?: string
  look?: string
  fields?: Record<string, string>
  /** Its answer is a page that is shown once, and no redirect. */
  showsOnce?: true
}

/** A form that is one button. */
export function button(
  ctx: UserPageCtx,
  path: string,
  words: string,
  { label, look = 'quiet small', fields = {}, showsOnce }: ButtonOptions = {},
): Html {
  return html`<form method="post" action="${path}"${showsOnce && html` data-turbo="false"`}>${csrfFields(ctx)}${Object.entries(
    fields,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button class="${look}"${label && html` aria-label="${label}"`}>${words}</button></form>`
}

/** What cannot be undone, or shuts somebody out: in one look on every page. `what`: what goes by it; `act`: its button or its form. */
export function dangerCard(title: string, what: Html | string, act: Html): Html {
  return html`<section class="stack card danger-zone"><h2>${title}</h2>
<p>${what}</p>
${act}</section>`
}

/**
 * A button that is reached by a second click: of what cannot be undone, or shuts somebody out. `look` is that of the first click. Works
 * without script.
 */
export function confirmedButton(
  ctx: UserPageCtx,
  path: string,
  words: string,
  { label, look = 'quiet', ...options }: ButtonOptions = {},
): Html {
  const second = { ...options, ...(label && { label }), look: look.includes('small') ? 'danger small' : 'danger' }
  return html`<details class="twice"><summary class="button ${look}"${label && html` aria-label="${label}…"`}>${words}…</summary>
${button(ctx, path, words, second)}</details>`
}

/** A form that looks for something in a list. `label`: what is looked for, and by what; `by`: the same in as few words as a telephone shows. */
export function searchForm(path: string, label: string, by: string, search: string | undefined): Html {
  return html`<form class="search card" action="${path}" role="search">
<input type="search" name="search" value="${search}" aria-label="${label}" placeholder="${by}" maxlength="100">
<button class="quiet">Search</button>
</form>`
}

/** A row of filters above a list. On a telephone it is closed behind one line, and open where one of them is set (`isSet`). `fields`: each in a `div`. */
export function filterForm(path: string, isSet: boolean, fields: Html): Html {
  return html`<details class="filters card"${isSet && html` open`}><summary>Filters</summary>
<form class="filter" action="${path}" role="search" aria-label="Filters">
${fields}
<button class="quiet">Filter</button></form></details>`
}

/** The ways to the newest and to older rows. `path`: of the list; `query`: what it was asked, with the `until` of this page. */
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

/** `1 project`, `2 projects`. */
export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** A secret on the one page that shows it. */
export function oneTimeSecret(words: string, secret: string): Html {
  return html`<section class="card"><h2>${words}</h2>
<p class="notice">Copy it now. No page shows it again.</p>
<pre class="secret">${secret}</pre></section>`
}
