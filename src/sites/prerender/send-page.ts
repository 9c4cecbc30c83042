/** Sends a page to a visitor: as a static file where it is kept. docs/prerendering.md: States. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ContentCache } from '../content/content-cache.ts'
import { answerHeaders } from '../functions/invoke.ts'
import { newRequestId } from '../functions/request-id.ts'
import { answerFile } from '../static/answer.ts'
import { hasNoBody } from '../visitors/send.ts'
import type { PageAnswer } from './keeping.ts'
import type { Page } from './pages.ts'
import type { PageOrder } from './renderings.ts'

type Exchange = { raw: IncomingMessage; response: ServerResponse }

export type CacheState = 'HIT' | 'STALE' | 'PRERENDER' | 'MISS' | 'REVALIDATED'

/** Sends a kept page: compressed, as a part, or as unchanged, as the visitor asks. Throws like `answerFile`. */
export async function sendPage(
  cache: ContentCache,
  page: Page,
  { call }: Pick<PageOrder, 'call'>,
  cached: CacheState,
  { response }: Exchange,
  now: number,
): Promise<void> {
  const { request, status } = call
  const { digest, size } = page.body
  const age = Math.max(0, Math.floor((now - page.at) / 1000))
  response.setHeader('x-vercel-id', idOf(response))
  await answerFile(cache, response, {
    account: page.account,
    request: { method: request.method, headers: request.headers },
    // The path would name a download.
    file: { path: '/', digest, size, contentType: page.contentType, status: status ?? page.status },
    rules: rulesOf(page, call, cached, age),
  })
}

type Rules = PageOrder['call']['rules']

const MADE = new WeakMap<Page, { of: Rules; cached: CacheState; age: number; matchedPath: string; rules: Rules }>()

/** The headers of a page with its own and those of rules. One object a second, because derived values are cached by it. */
function rulesOf(page: Page, { rules: of, invocation }: PageOrder['call'], cached: CacheState, age: number): Rules {
  const { matchedPath } = invocation
  const made = MADE.get(page)
  if (made?.of === of && made.cached === cached && made.age === age && made.matchedPath === matchedPath)
    return made.rules
  const own = { 'x-vercel-cache': cached, 'x-matched-path': matchedPath, age: String(age) }
  const added = Object.entries(own).map(([name, value]) => ({ name, value }))
  const rules = { ...of, headers: [...page.headers, ...of.headers, ...added] }
  MADE.set(page, { of, cached, age, matchedPath, rules })
  return rules
}

/** Sends a page that is not kept, to the visitor for whom it was rendered. */
export function sendRendered(
  { status: given, headers, body }: PageAnswer,
  { call }: PageOrder,
  cached: CacheState,
  { response }: Exchange,
): void {
  const status = call.status ?? given
  const isEmpty = hasNoBody(status)
  const merged = answerHeaders(headers, { id: idOf(response), call }, false)
  const length = isEmpty ? {} : { 'content-length': body.length }
  response.writeHead(status, { ...merged, ...length, 'x-vercel-cache': cached })
  response.end(isEmpty ? undefined : body)
}

/** That of the middleware, if one ran. */
function idOf(response: ServerResponse): string {
  return String(response.getHeader('x-vercel-id') ?? newRequestId())
}
