/** The frame of reference pages: the console's layout and stylesheet, and strict headers. */
import { assetOf, STYLE } from '../pages/assets/assets.ts'
import { documentOf, FULL_RELOAD_META, framedBody } from '../pages/frame.ts'
import { type Html, html } from '../pages/html.ts'

export const MAX_SEARCH = 100

export const REFERENCE_STYLE = assetOf(
  'reference',
  'css',
  'text/css',
  Buffer.from(`.asked { font-size: 1.1rem }
.method { font: 600 .8rem/1 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; color: var(--soft) }
.console .tags ul { flex-wrap: wrap; gap: .25rem 1rem; margin: 1.5rem 0 }
ul.operations { list-style: none; padding: 0 }
ul.operations li { display: flex; flex-wrap: wrap; gap: 0 1rem; justify-content: space-between; padding: .5rem 0; border-top: 1px solid var(--line); scroll-margin-top: 1rem }
ul.operations li:target { background: var(--note) }
ul.operations span { color: var(--soft) }
ul.fields { list-style: none; padding: 0 }
ul.fields li { padding: .4rem 0; border-top: 1px solid var(--line) }
ul.fields i { color: var(--soft) }
ul.fields details > ul { margin: .25rem 0 .25rem .25rem; padding-left: .75rem; border-left: 2px solid var(--line) }
ul.fields summary { color: var(--main); font-size: .9rem }
.console table.refusals th, .console table.refusals td { padding: .4rem .75rem .4rem 0 }
.console table.refusals td code { min-width: 0; overflow-wrap: break-word }
.console table.refusals td:last-child { overflow-wrap: anywhere }
.example input { position: absolute; opacity: 0 }
.example label { display: inline-block; margin: 0; padding: .5rem .75rem; cursor: pointer; font-weight: 400; color: var(--soft); border-bottom: 2px solid transparent }
.example input:checked + label { color: var(--ink); font-weight: 600; border-color: var(--main) }
.example input:focus-visible + label { outline: 3px solid var(--main); outline-offset: 2px }
#with-curl:checked ~ .with-sdk, #with-sdk:checked ~ .with-curl { display: none }
.console .more ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; overflow: visible }
@media (min-width: 64rem) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 2.5rem; align-items: start }
  .operation > section { order: 2 }
}
`),
)

const POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

/** Headers of each page. Pages are public, so browsers may cache them for five minutes. */
export const REFERENCE_HEADERS: Record<string, string> = {
  'cache-control': 'public, max-age=300',
  vary: 'accept-encoding',
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** Renders the complete document. `search`: the search text. */
export function referenceDocument(title: string, body: Html, search = ''): string {
  const head = `${FULL_RELOAD_META}
<link rel="stylesheet" href="${STYLE.path}">
<link rel="stylesheet" href="${REFERENCE_STYLE.path}">`
  return documentOf(title, head, framedBody(bar(search), body))
}

function bar(search: string): Html {
  return html`<header><div class="bar">
<a class="brand" href="/console">Berth</a>
<a class="crumb" href="/docs">API reference</a>
<form class="search" action="/docs" role="search" aria-label="Search"><input type="search" name="search" aria-label="Search operations and events" placeholder="Search the API" maxlength="${MAX_SEARCH}" value="${search}" autocomplete="off" spellcheck="false"><button class="quiet small">Search</button></form>
</div></header>`
}
