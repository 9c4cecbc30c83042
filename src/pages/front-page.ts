/** What is at the address that the start prints: the way on, for people and for programs. */

import type { OpenPage, Probe } from '../http/open-page.ts'
import { pageHeaders, showDocument } from './frame.ts'
import { html } from './html.ts'

/** `/` and `/favicon.ico`. Nothing here needs a token, and nothing of the store is told. */
export function frontPages(): (OpenPage | Probe)[] {
  return [
    { path: '/', contentType: 'application/json; charset=utf-8', answer: (_, __, { accept }) => frontPage(accept) },
    { path: '/favicon.ico', contentType: 'image/x-icon', body: () => ICON },
  ]
}

/** A page for who asks for one, as browsers do; else where things are, as JSON. */
function frontPage(accept = '') {
  if (!/\btext\/html\b/i.test(accept)) return { status: 200, body: PLACES, headers: { vary: 'accept' } }
  return {
    status: 200,
    body: showDocument(PAGE, undefined, ''),
    headers: { ...pageHeaders(PAGE), vary: 'accept' },
  }
}

const PLACES = `${JSON.stringify({ name: 'berth', docs: '/docs', openapi: '/openapi.json' })}\n`

const PAGE = {
  title: 'Welcome',
  body: html`<h1>This is Berth</h1>
<p>It runs, and this is the address that clients are pointed at.</p>
<ul>
<li><a href="/docs">Every operation</a>: what it takes, needs, answers and refuses</li>
<li><a href="/openapi.json">The same as OpenAPI 3.1</a>, for programs</li>
<li><a href="/integrations/installed">Your integrations</a>: what has access to your projects; asks you to sign in</li>
</ul>`,
}

/** 16 by 16 pixels. */
const ICON = Buffer.from(
  'AAABAAEAEBAAAAEAIABtAAAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAQAAAAEAgGAAAAH/P/YQAAADRJREFUeNpjYAACef8b/8nBDJRohhtCdQ' +
    'NwAZIMwGUo2QbgE6ePASR7YTQQBzoQ6ZojQXoBVUN9NVo6CI8AAAAASUVORK5CYII=',
  'base64',
)
