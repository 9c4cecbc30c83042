/** Error pages for visitors: small, without script, in light and dark. */
import { RETURN_PATH } from './site-sign-in.ts'

export type PageKind = keyof typeof TEXTS

/** The second column is HTML. */
const TEXTS = {
  DEPLOYMENT_PAUSED: [
    'This site is paused',
    'Its owner has taken it offline for now. Nothing is broken, and nothing is lost: please come back later.',
  ],
  DOMAIN_NOT_FOUND: [
    'There is no site here',
    'This address is not connected to a site. Is it spelled right? If it is yours, add it to your project.',
  ],
  DOMAIN_NOT_VERIFIED: [
    'This address is almost ready',
    'It was added to a project, and its owner has not verified it yet. Once the DNS record is there, the site appears.',
  ],
  DEPLOYMENT_NOT_FOUND: [
    'Nothing is published here yet',
    'This address belongs to a project that has no finished deployment to show. Please come back soon.',
  ],
  PASSWORD_REQUIRED: ['This site asks for a password', 'Reload the page and enter the password that you were given.'],
  PASSWORD_OR_MEMBERS: [
    'This site asks for a password',
    `Reload the page and enter the password that you were given, or <a href="${RETURN_PATH}">sign in</a> as a member of its account.`,
  ],
  NOT_ALLOWED: [
    'You cannot see this site from here',
    'Only some visitors have access. If you should be one of them, ask its owner for access.',
  ],
  SIGN_IN: [
    'This site is for members',
    'Members of its account sign in first. Your browser should take you to the page for that.',
  ],
  SIGN_IN_OVER: [
    'You are not signed in here yet',
    'The sign-in was begun in another browser, or took too long. Open the page that you wanted to see once more.',
  ],
  TOO_MANY_PASSWORDS: ['Please wait', 'Many passwords are being tried here. Reload the page in a few seconds.'],
  MOVED: ['This site has moved', 'Your browser should take you to its new address.'],
  NOT_FOUND: ['This page does not exist', 'The site has no page at this address. Is it spelled right?'],
  DENIED: ['You cannot see this page', 'A rule of the site denies this request.'],
  NOT_RUN: [
    'This page cannot be shown here',
    'It is made by a function of the site, and this server answers with files alone. Its owner can publish the page as a file.',
  ],
  FUNCTION_FAILED: [
    'The site could not answer',
    'The part of the site that makes this page failed, or took too long. Reload the page in a few seconds.',
  ],
  SITE_FAULT: [
    'The site cannot answer this request',
    'The rules of the site take too long, or cannot be followed. Please contact its owner.',
  ],
  NO_ANSWER: [
    'The site did not answer',
    'The page comes from another server, which did not answer. Reload the page in a few seconds.',
  ],
  FAILED: ['Something went wrong', 'The error is on our side. Reload the page in a few seconds.'],
  BACK_IN_A_MOMENT: ['Please wait', 'The site is on its way. Reload the page in a few seconds.'],
} as const

const STYLE = `:root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;font:1.125rem/1.6 system-ui,sans-serif;background:light-dark(#fafaf9,#171717);color:light-dark(#292524,#e7e5e4)}main{max-width:34rem;padding:2rem}h1{font-size:1.75rem;line-height:1.25;margin:0 0 .75rem}p,ul{margin:0 0 .75rem}h1,li{overflow-wrap:anywhere}a{color:inherit}small{color:light-dark(#6b6560,#a8a29e);overflow-wrap:anywhere}`

const pages = new Map<string, string>()

/** Returns the page as HTML. `host` is shown when it is a valid host name. */
export function pageOf(kind: PageKind, status: number, host: string): string {
  const page = pages.get(kind) ?? make(kind)
  const label = /^[a-z0-9*.-]{1,253}$/.test(host) ? `${host} · ${status}` : String(status)
  return page.replace('%s', label)
}

function make(kind: PageKind): string {
  const [title, text] = TEXTS[kind]
  const html = documentOf(title, `<h1>${title}</h1>\n<p>${text}</p>\n<small>%s</small>`)
  pages.set(kind, html)
  return html
}

/** Returns an HTML document around its main part. */
export function documentOf(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${STYLE}</style>
<main>
${main}
</main>
</html>
`
}

/** No content of the page may load or run anything. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
} as const
