/** The frame of reference pages: the console's layout and stylesheet, and strict headers. */
import { icon } from '../pages/face/icons.ts'
import { BRAND_LINK, documentOf, FACE_SOURCES, FULL_RELOAD_META, framedBody } from '../pages/frame.ts'
import { type Html, html } from '../pages/html.ts'

export const MAX_SEARCH = 100

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  ...FACE_SOURCES,
  "img-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

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
  return documentOf(title, FULL_RELOAD_META, framedBody(side(search), body))
}

function side(search: string): Html {
  return html`<header class="side"><div class="side-top">${BRAND_LINK}<b>API reference</b></div>
<form class="find" action="/docs" role="search" aria-label="Search">${icon('search')}<input type="search" name="search" aria-label="Search operations and events" placeholder="Search the API" maxlength="${MAX_SEARCH}" value="${search}" autocomplete="off" spellcheck="false"></form>
<nav aria-label="API reference"><ul><li><a href="/docs">${icon('book-open')}Operations and events</a></li><li><a href="/openapi.json">${icon('file-text')}OpenAPI document</a></li></ul></nav>
</header>`
}
