/** The frame of every page: document, style and strict headers. */
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
  status?: number
  /** Image sources, as in the Content-Security-Policy; none by default. */
  images?: string | undefined
  /** Form targets outside this service. */
  formsTo?: string | undefined
  /** Navigation of a console page, which also has the console's stylesheet and script. */
  console?: Html
  /** Without script: seconds after which a console page reloads, because its content is in progress. */
  reload?: number | undefined
  /** Scripts in addition to the console's. */
  scripts?: readonly Asset[] | undefined
}

const STYLE_SOURCE = `'sha256-${hash('sha256', STYLESHEET, 'base64')}'`

/**
 * Returns the headers of a page, or of a redirect for undefined: only the console's scripts and those of the page, no frames, no cache, no Referer.
 * `nonce`: for elements that Turbo creates; one per session, because Turbo changes pages without a load.
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

/** Options of a document: user, CSRF token, CSP nonce, and the stamp of a live page. */
export type DocumentOptions = {
  user: SessionUser | undefined
  csrfToken: string
  nonce: string
  stamp: string | undefined
}

/** Renders the complete document. */
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

/** For a page with another stylesheet than the console's: Turbo loads it in full. */
export const FULL_RELOAD_META = '<meta name="turbo-visit-control" content="reload">'

/** Renders a document. `title`: text; `head`: markup for the end of its head; `body`: markup, with its element. */
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

/** Renders a body with the console's frame. `navigation` and `main`: markup. */
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
 * A console page. Turbo navigates without loads and caches no pages, since they may contain secrets. It does not prefetch, because some pages read
 * secrets and write audit entries. The first paint waits for the complete page (`expect`), so that table columns do not shift.
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

/** Header of an error page in the console. Turbo shows it only with the console's stylesheet and script. */
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

/** Returns the page of an error, with a link to continue (`way`). */
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
