/** What is at the address that the start prints: the way on, for people and for programs. */

import type { Probe, PublicPage } from '../http/public-page.ts'
import { pageHeaders } from './frame.ts'

/** `/` and `/favicon.ico`. Nothing here needs a token, and nothing of the store is told. */
export function frontPages(): (PublicPage | Probe)[] {
  return [
    { path: '/', contentType: 'application/json; charset=utf-8', answer: (_, __, { accept }) => frontPage(accept) },
    { path: '/favicon.ico', contentType: 'image/x-icon', body: () => ICON },
  ]
}

/** Browsers, which ask for a page, are sent to the console; others are told where things are, as JSON. */
function frontPage(accept = '') {
  const vary = { vary: 'accept' }
  if (!/\btext\/html\b/i.test(accept)) return { status: 200, body: PLACES, headers: vary }
  return { status: 303, body: '', headers: { ...pageHeaders(undefined), ...vary, location: '/console' } }
}

const PLACES = `${JSON.stringify({ name: 'berth', docs: '/docs', openapi: '/openapi.json' })}\n`

/** 16 by 16 pixels. */
const ICON = Buffer.from(
  'AAABAAEAEBAAAAEAIABtAAAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAQAAAAEAgGAAAAH/P/YQAAADRJREFUeNpjYAACef8b/8nBDJRohhtCdQ' +
    'NwAZIMwGUo2QbgE6ePASR7YTQQBzoQ6ZojQXoBVUN9NVo6CI8AAAAASUVORK5CYII=',
  'base64',
)
