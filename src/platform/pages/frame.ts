/** The frame of every page: document, style and strict headers. */
import type { SessionUser } from '../access/session.ts'
import type { Refusal } from '../refusals/refusal.ts'
import {
  type Asset,
  CONTROLS,
  DROP_SCRIPT,
  KEYS_SCRIPT,
  LIVE_SCRIPT,
  LOG_SCRIPT,
  MANIFEST,
  MARK,
  SANS_FONT,
  SCRIPT,
  SEARCH,
  STYLE,
} from './assets/assets.ts'
import { CSRF_FIELD, type Theme } from './cookies.ts'
import { HARBOR_DRAWING, MARK_DRAWING } from './face/drawings.ts'
import { withErrorLink } from './face/error-link.ts'
import { withFocus } from './face/focus.ts'
import { escapeText, type Html, html, stripBidiControls } from './html.ts'

export type Page = {
  title: string
  body: Html
  status?: number | undefined
  /** Image sources, as in the Content-Security-Policy; none by default. */
  images?: string | undefined
  /** Form targets outside this service. */
  formsTo?: string | undefined
  /** Slug of the account that it belongs to. The browser comes back to it. docs/console.md: URLs. */
  account?: string | undefined
  /** Navigation of a console page, which also has the console's scripts. */
  console?: Html
  /** Without script: seconds after which a console page reloads, because its content is in progress. */
  reload?: number | undefined
  /** Scripts in addition to the console's. */
  scripts?: readonly Asset[] | undefined
}

/** The stylesheet, its fonts, the mark and the manifest: all from this service. */
export const FACE_SOURCES = ["font-src 'self'", "manifest-src 'self'"]

/**
 * Returns the headers of a page, or of a redirect for undefined: its stylesheet, the console's scripts and those of the page, no frames, no cache, no Referer.
 * `nonce`: for elements that Turbo creates; one per session, because Turbo changes pages without a load.
 */
export function pageHeaders(page: Page | undefined, nonce = ''): Record<string, string> {
  const policy = [
    "default-src 'none'",
    ...(page?.console
      ? [`style-src 'self' 'nonce-${nonce}'`, `script-src 'self' 'nonce-${nonce}'`, "connect-src 'self'"]
      : ["style-src 'self'", ...(page?.scripts?.length ? ["script-src 'self'"] : [])]),
    ...FACE_SOURCES,
    `img-src 'self'${page?.images ? ` ${page.images}` : ''}`,
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

/** Options of a document: user, CSRF token, CSP nonce, the stamp of a live page, and the theme that the user chose. */
export type DocumentOptions = {
  user: SessionUser | undefined
  csrfToken: string
  nonce: string
  stamp: string | undefined
  theme?: Theme
}

/** Renders the complete document. */
export function showDocument(page: Page, { user, csrfToken, nonce, stamp, theme }: DocumentOptions): string {
  const shown = { ...page, body: withFocus(withErrorLink(page.body)) }
  if (shown.console !== undefined) return showConsole(shown, shown.console, { nonce, stamp, theme })
  const head = `${FULL_RELOAD_META}${scriptTags(shown)}`
  return documentOf(shown.title, head, gateBody(shown.body, user, csrfToken), theme)
}

/** A page outside the console: a column of forms, and before sign-in the harbor next to it. */
function gateBody(content: Html, user: SessionUser | undefined, csrfToken: string): string {
  return html`<body class="gate${user !== undefined && ' wide'}">
<main id="main"><div class="form stack">
${gateHeader(user, csrfToken)}
${content}
</div></main>
${user === undefined && HARBOR_DRAWING}
</body>`.markup
}

/** For a page without the console's scripts: Turbo loads it in full. */
export const FULL_RELOAD_META = '<meta name="turbo-visit-control" content="reload">'

/** Renders a document. `title`: text; `head`: markup for the end of its head; `body`: markup, with its element; `theme`: the chosen one. */
export function documentOf(title: string, head: string, body: string, theme?: Theme): string {
  return `<!doctype html>
<html lang="en"${theme === undefined ? '' : ` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#f6f8f9" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#080d11" media="(prefers-color-scheme: dark)">
<title>${escapeText(stripBidiControls(title))} – Berth</title>
<link rel="icon" href="${MARK.path}" type="image/svg+xml">
<link rel="manifest" href="${MANIFEST.path}">
<link rel="preload" href="${SANS_FONT.path}" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${STYLE.path}" data-turbo-track="reload">
${head}
</head>
${body}
</html>
`
}

/** Renders a body with the console's frame. `navigation` and `main`: markup. */
export function framedBody(navigation: Html, main: Html): string {
  return `<body>
<div class="shell">
<a class="skip" href="#main" data-turbo="false">Skip to content</a>
${navigation.markup}
<main id="main" tabindex="-1">
${main.markup}
</main>
</div>
<span id="end" hidden></span>
</body>`
}

/**
 * A console page. Turbo navigates without loads and caches no pages, since they may contain secrets. It does not prefetch, because some pages read
 * secrets and write audit entries. The first paint waits for the complete page (`expect`), so that table columns do not shift.
 */
function showConsole(
  page: Page,
  navigation: Html,
  { nonce, stamp, theme }: Pick<DocumentOptions, 'nonce' | 'stamp' | 'theme'>,
): string {
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
<script type="module" src="${SCRIPT.path}" data-turbo-track="reload"></script>
<script type="module" src="${CONTROLS.path}" data-turbo-track="reload"></script>
<script type="module" src="${DROP_SCRIPT.path}" data-turbo-track="reload"></script>
<script type="module" src="${SEARCH.path}" data-turbo-track="reload"></script>
<script type="module" src="${KEYS_SCRIPT.path}" data-turbo-track="reload"></script>
<script type="module" src="${LOG_SCRIPT.path}" data-turbo-track="reload"></script>
<script type="module" src="${LIVE_SCRIPT.path}" data-turbo-track="reload"></script>${scriptTags(page)}`
  return documentOf(page.title, head, framedBody(navigation, page.body), theme)
}

function scriptTags({ scripts = [] }: Page): string {
  return scripts.map(({ path }) => `\n<script src="${path}" defer></script>`).join('')
}

/** The mark, as the way to the console. */
export const BRAND_LINK: Html = html`<a class="brand" href="/console" aria-label="Berth, home">${MARK_DRAWING}</a>`

/** Header of an error page in the console. Turbo shows it only with the console's scripts. */
export const BARE_HEADER: Html = html`<header class="side"><div class="side-top">${BRAND_LINK}</div></header>`

function gateHeader(visitor: SessionUser | undefined, csrfToken: string): Html {
  if (visitor === undefined)
    return html`<header class="line one"><span class="brand">${MARK_DRAWING}</span><b>Berth</b></header>`
  return html`<header class="line">${BRAND_LINK}<b>Berth</b>
<form class="line tight end" method="post" action="/sign-out"><input type="hidden" name="${CSRF_FIELD}" value="${csrfToken}">
<span class="soft">Signed in as ${visitor.name ?? visitor.username}</span>
<button class="btn quiet small">Sign out</button>
</form></header>`
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

const toProjects = html`<a class="btn primary" href="/console">Go to your projects</a>`
const setUpFactor = html`<a class="btn primary" href="/console/account/security/factors">Set up a second factor</a>`

const TITLES: Record<number, string> = {
  403: 'Access denied',
  404: 'Page not found',
}
