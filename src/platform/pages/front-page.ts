import type { Probe, PublicPage } from '../http/public-page.ts'
import { pageHeaders } from './frame.ts'

/** Returns `/` and `/favicon.ico`. They are public and contain no data. */
export function frontPages(): (PublicPage | Probe)[] {
  return [
    { path: '/', contentType: 'application/json; charset=utf-8', answer: (_, __, { accept }) => frontPage(accept) },
    { path: '/favicon.ico', contentType: 'image/x-icon', body: () => ICON },
  ]
}

/** Redirects browsers to the console; other clients get links as JSON. */
function frontPage(accept = '') {
  const vary = { vary: 'accept' }
  if (!/\btext\/html\b/i.test(accept)) return { status: 200, body: PLACES, headers: vary }
  return { status: 303, body: '', headers: { ...pageHeaders(undefined), ...vary, location: '/console' } }
}

const PLACES = `${JSON.stringify({ name: 'berth', docs: '/docs', openapi: '/openapi.json' })}\n`

const ICON = Buffer.from(
  'AAABAAEAEBAAAAEAIABtAAAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAQAAAAEAgGAAAAH/P/YQAAADRJREFUeNpjYAACef8b/8nBDJRohhtCdQ' +
    'NwAZIMwGUo2QbgE6ePASR7YTQQBzoQ6ZojQXoBVUN9NVo6CI8AAAAASUVORK5CYII=',
  'base64',
)
