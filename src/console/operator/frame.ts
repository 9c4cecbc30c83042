/** What the pages of the operator have in common: their tabs, their tables, and the ways to older rows. docs/console.md: Operator. */
import type { Page } from '../../pages/frame.ts'
import { type Html, html } from '../../pages/html.ts'
import { type ConsoleCtx, tokenField } from '../../pages/screen.ts'
import { Type } from '../../schema/builder.ts'
import { showPage } from '../frame.ts'

/** TABLE the sections, in the order of the tabs. */
const TABS = {
  '': 'Overview',
  people: 'People',
  teams: 'Teams',
  tokens: 'Tokens',
  integrations: 'Integrations',
  keys: 'Keys',
  timers: 'Timers',
  deliveries: 'Deliveries',
  audit: 'Audit log',
  backups: 'Backups',
  health: 'Health',
} as const
type Tab = keyof typeof TABS

/** Rows on a page. */
export const ROWS = '50'
const Text = Type.Optional(Type.String({ maxLength: 100 }))
/** The query of a list: what is looked for, and from where on. */
export const ListQuery = Type.Object({ search: Text, until: Type.Optional(Type.String({ maxLength: 20 })) })

/** `/console/operator`, and what follows it. */
export function operatorPath(section = '', ...parts: string[]): string {
  const path = ['/console/operator', ...(section === '' ? [] : [section]), ...parts.map(encodeURIComponent)]
  return path.join('/')
}

/** A page of the operator, in one of the sections. */
export function operatorPage(ctx: ConsoleCtx, tab: Tab, page: Pick<Page, 'title' | 'body' | 'images'>): Promise<Page> {
  const nav = html`<nav class="tabs" aria-label="Operator"><ul>
${Object.entries(TABS).map(
  ([end, words]) =>
    html`<li><a href="${operatorPath(end)}"${end === tab && html` aria-current="page"`}>${words}</a></li>`,
)}
</ul></nav>`
  return showPage(ctx, undefined, { ...page, title: `${page.title} · Operator` }, nav)
}

/** The heading of a page, with what can be done beside it. */
export function heading(title: string, ...beside: (Html | undefined | false)[]): Html {
  return html`<div class="top"><h1>${title}</h1>${beside.filter((one) => one !== undefined && one !== false)}</div>`
}

/** A table; `none` is said where it has no row. */
export function sheet(heads: readonly string[], rows: readonly Html[], none: string): Html {
  if (rows.length === 0) return html`<p class="card empty">${none}</p>`
  return html`<div class="sheet" tabindex="0" role="region" aria-label="Table"><table><thead><tr>${heads.map((one) => html`<th scope="col">${one}</th>`)}</tr></thead><tbody>
${rows}
</tbody></table></div>`
}

/** A form that looks for something in a list. */
export function searchForm(path: string, label: string, search: string | undefined): Html {
  return html`<form class="search card" action="${path}" role="search">
<input type="search" name="search" value="${search}" aria-label="${label}" placeholder="${label}" maxlength="100">
<button class="quiet">Search</button>
</form>`
}

/** The ways to the newest and to older rows. */
export function pageLinks(path: string, query: Record<string, string | undefined>, next: number | null): Html {
  const { until, ...filter } = query
  const to = (more: Record<string, string>) => {
    const pairs = Object.entries({ ...filter, ...more }).filter((pair): pair is [string, string] => Boolean(pair[1]))
    return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
  }
  return html`<p class="page-links">${until && html`<a href="${to({})}">Newest</a>`}${next !== null && html`<a href="${to({ until: String(next) })}">Older</a>`}</p>`
}

/** A form that is one button. `about`: what the button acts on, for those who do not see the row. */
export function button(
  ctx: ConsoleCtx,
  action: string,
  words: string,
  { about, look = 'quiet small', fields = {}, shows }: ButtonOptions = {},
): Html {
  return html`<form method="post" action="${action}"${shows && html` data-turbo="false"`}>${tokenField(ctx)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="${look}"${about !== undefined && html` aria-label="${words}: ${about}"`}>${words}</button></form>`
}

type ButtonOptions = {
  about?: string
  look?: string
  fields?: Record<string, string>
  /** The answer is shown once, and no redirect. */
  shows?: true
}

/** `12.3 MiB`. */
export function bytes(count: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']
  const step = count < 1024 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), units.length - 1)
  return `${step === 0 ? count : (count / 1024 ** step).toFixed(1)} ${units[step]}`
}
