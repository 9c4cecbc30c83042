/** Sends a picture to a visitor, as a static file is sent. docs/pictures.md: Responses. */
import type { ServerResponse } from 'node:http'
import type { Header } from '../../delivery/protocol/routing-manifest.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { browserCaching } from '../functions/invoke.ts'
import { newRequestId } from '../functions/request-id.ts'
import type { Page } from '../prerender/pages.ts'
import type { Decision } from '../router/decision.ts'
import { answerFile } from '../static/answer.ts'
import type { Visit } from '../visitors/visit.ts'
import type { PictureRequest } from './picture-request.ts'
import type { Located } from './sources.ts'

type Rules = Pick<Decision, 'headers' | 'cookies' | 'responseTransforms'>
type Sending = {
  visit: Visit
  picture: PictureRequest
  located: Located
  rules: Rules
  cached: 'HIT' | 'STALE' | 'MISS'
}

const MAX_NAME = 100

/** Sends a picture: whole, as a part, or as unchanged, as the visitor asks. Throws like `answerFile`. */
export async function sendPicture(
  cache: ContentCache,
  page: Page,
  sending: Sending,
  response: ServerResponse,
): Promise<void> {
  const { method, headers } = sending.visit.request
  const { digest, size } = page.body
  response.setHeader('x-vercel-id', String(response.getHeader('x-vercel-id') ?? newRequestId()))
  await answerFile(cache, response, {
    account: page.account,
    request: { method, headers },
    file: { path: '/', digest, size, contentType: page.contentType, status: 200 },
    rules: rulesFor(page, sending),
  })
}

/** One object for each picture and decision, because headers are built once for it (response-plan.ts). */
const MADE = new WeakMap<Page, { rules: Rules; cached: string; located: Located; made: Rules }>()

function rulesFor(page: Page, sending: Sending): Rules {
  const { rules, cached, located } = sending
  const before = MADE.get(page)
  if (before?.rules === rules && before.cached === cached && before.located === located) return before.made
  const made = createRules(page, sending)
  MADE.set(page, { rules, cached, located, made })
  return made
}

function createRules(page: Page, { picture, located, rules, cached }: Sending): Rules {
  const own = [
    ...(located.kind === 'file' ? [{ name: 'cache-control', value: browserCaching(located.caching) }] : []),
    ...page.headers,
    { name: 'content-security-policy', value: picture.policy },
    { name: 'x-content-type-options', value: 'nosniff' },
    { name: 'content-disposition', value: dispositionOf(picture, page.contentType) },
  ]
  const last = [
    { name: 'vary', value: varyOf(rules.headers) },
    { name: 'x-vercel-cache', value: cached },
  ]
  return { ...rules, headers: [...own, ...rules.headers, ...last] }
}

/** TABLE endings of names whose type says another one. */
const ENDINGS: Readonly<Record<string, string>> = { jpeg: 'jpg', 'svg+xml': 'svg', 'x-icon': 'ico' }

function dispositionOf({ source, disposition }: PictureRequest, contentType: string): string {
  const path = source.kind === 'local' ? source.path : new URL(source.url).pathname
  const given = path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '')
  // Percent-encoded, so that it has no quote.
  const name = /^[\w.%~-]+$/.test(given) ? given.slice(0, MAX_NAME) : 'image'
  const ending = contentType.slice('image/'.length)
  return `${disposition}; filename="${name}.${ENDINGS[ending] ?? ending}"`
}

function varyOf(headers: readonly Header[]): string {
  const vary = headers.findLast(({ name }) => name === 'vary')?.value
  return vary === undefined ? 'Accept' : `${vary}, Accept`
}
