/** What stands around every page: the document, its style, and the headers that shut everything else out. */
import { hash } from 'node:crypto'
import type { SessionUser } from '../access/session.ts'
import type { Refusal } from '../refusals/refusal.ts'
import { type Asset, CONTROLS, DROP_SCRIPT, LIVE_SCRIPT, SCRIPT, SEARCH, STYLE } from './assets/assets.ts'
import { STYLESHEET } from './assets/stylesheet.ts'
import { CSRF_FIELD } from './cookies.ts'
import { escapeText, type Html, html, stripBidiControls } from './html.ts'

export type Page = {
  title: string
  body: Html
  /** 200 by default. */
  status?: number
  /** Where images come from, in the form of the Content-Security-Policy; none by default. */
  images?: string | undefined
  /** Where a form may lead beyond this service. */
  formsTo?: string | undefined
  /** What stands above the page, of a page of the console: its navigation. Such a page has the console's stylesheet and script. */
  console?: Html
  /** Without script: seconds after which a page of the console loads itself anew, because what it shows goes on. */
  reload?: number | undefined
  /** Scripts that the page needs, besides the console's. */
  scripts?: readonly Asset[] | undefined
}

const STYLE_SOURCE = `'sha256-${hash('sha256', STYLESHEET, 'base64')}'`

/**
 * The headers of a page, or of a redirect when there is none: no script but the console's own and those that the page names, no frame, no cache, no Referer.
 * `nonce`: what Turbo gives the elements that it makes; one for a session, since it goes from page to page without a load.
 */
export function pageHeaders(page: Page | undefined, nonce = ''): Record<string, string> {
  const policy = [
    "default-src 'none'",
    ...(page?.console
      ? [`style-src 'self' 'nonce-${nonce}'`, `script-src 'self' 'nonce-${nonce}'`, "connect-src 'self'"]
      : [`style-src ${STYLE_SOURCE}`, ...(page?.scripts?.length ? ["script-src 'self'"] : [])]),
    ...(page?.images ? [`img-src ${page.images}`] : []),
    `form-action 'self'${page?.formsTo ? ` ${page.formsTo}` : ''}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    ...(page && { 'content-type': 'text/html; charset=utf-8' }),
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY',
    'cross-origin-resource-policy': 'same-origin',
  }
}

/** How a document is shown: to whom, with which token for its forms, under which nonce, and at which stamp it was read if it is to follow what changes. */
export type DocumentOptions = {
  user: SessionUser | undefined
  csrfToken: string
  nonce: string
  stamp: string | undefined
}

/** The whole document. */
export function showDocument(page: Page, { user, csrfToken, nonce, stamp }: DocumentOptions): string {
  if (page.console !== undefined) return showConsole(page, page.console, nonce, stamp)
  const head = `${FULL_RELOAD_META}
<style>${STYLESHEET}</style>${scriptTags(page)}`
  const body = `<body>
${header(user, csrfToken).markup}
<main>
${page.body.markup}
</main>
</body>`
  return documentOf(page.title, head, body)
}

/** Of a page with another stylesheet than the console's: Turbo loads it. */
export const FULL_RELOAD_META = '<meta name="turbo-visit-control" content="reload">'

/** The document of every page. `title`: text, which no element isolates; `head`: markup for the end of its head; `body`: markup, with its element. */
export function documentOf(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeText(stripBidiControls(title))} – Berth</title>
${head}
</head>
${body}
</html>
`
}

/** The body of a page with the console's frame. `navigation`: markup of what stands above the page; `main`: of the page. */
export function framedBody(navigation: Html, main: Html): string {
  return `<body class="console">
<a class="skip" href="#main" data-turbo="false">To the content</a>
${navigation.markup}
<main id="main" tabindex="-1">
${main.markup}
</main>
<span id="end" hidden></span>
</body>`
}

/**
 * A page of the console. Turbo goes from one to the next without a load; it keeps none of them, since they may hold what is secret. It asks
 * for a page once its link is followed, and not when the pointer is above it: some pages open values, and the audit log says so. The first picture
 * waits for the whole page (`expect`): the columns of a table moved with each row that was read after it.
 */
function showConsole(page: Page, navigation: Html, nonce: string, stamp: string | undefined): string {
  const follows = page.status === undefined && stamp !== undefined
  const live = follows
    ? `
<meta name="berth-live" content="${escapeText(stamp)}">`
    : ''
  const head = `<meta name="csp-nonce" content="${escapeText(nonce)}">
<meta name="turbo-cache-control" content="no-cache">
<meta name="turbo-prefetch" content="false">
<meta name="turbo-refresh-method" content="morph">
<meta name="turbo-refresh-scroll" content="preserve">${page.reload === undefined ? '' : `\n<noscript><meta http-equiv="refresh" content="${page.reload}"></noscript>`}${live}
<link rel="expect" href="#end" blocking="render">
<link rel="stylesheet" href="${STYLE.path}" data-turbo-track="reload">
<script type="module" src="${SCRIPT.path}" data-turbo-track="reload"></script>
<script type="module" src="${CONTROLS.path}" data-turbo-track="reload"></script>
<script type="module" src="${DROP_SCRIPT.path}" data-turbo-track="reload"></script>
<script type="module" src="${SEARCH.path}" data-turbo-track="reload"></script>
<script type="module" src="${LIVE_SCRIPT.path}" data-turbo-track="reload"></script>${scriptTags(page)}`
  return documentOf(page.title, head, framedBody(navigation, page.body))
}

function scriptTags({ scripts = [] }: Page): string {
  return scripts.map(({ path }) => `\n<script src="${path}" defer></script>`).join('')
}

/** What stands above a page that takes the place of one of the console. Turbo shows it only where stylesheet and script are those of the console. */
export const BARE_HEADER: Html = html`<header><div class="bar"><a class="brand" href="/console">Berth</a></div></header>`

function header(visitor: SessionUser | undefined, csrfToken: string): Html {
  if (visitor === undefined) return html`<header><span class="brand">Berth</span></header>`
  return html`<header>
<a class="brand" href="/console">Berth</a>
<form method="post" action="/sign-out">
<input type="hidden" name="${CSRF_FIELD}" value="${csrfToken}">
<span>Signed in as ${visitor.name ?? visitor.username}</span>
<button class="quiet">Sign out</button>
</form>
</header>`
}

/** The page of a refusal: what was wrong, and the way on (`way`). */
export function errorPage(refusal: Refusal, way: Html = toProjects): Page {
  const title = TITLES[refusal.status] ?? (refusal.status >= 500 ? 'Something failed' : 'This did not work')
  return {
    title,
    body: html`<h1>${title}</h1>
<p role="alert">${refusal.message}</p>
<p>${refusal.key === 'second_factor_required' ? setUpFactor : way}</p>`,
  }
}

const toProjects = html`<a class="button" href="/console">Go to your projects</a>`
const setUpFactor = html`<a class="button" href="/console/account/security/factors">Set up a second factor</a>`

const TITLES: Record<number, string> = {
  403: 'This is not allowed',
  404: 'There is nothing here',
}
