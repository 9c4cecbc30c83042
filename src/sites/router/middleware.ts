/** Interprets the response of a middleware. The headers are those that `@vercel/functions` and Next.js send. */
import { MESSAGE_HEADERS } from '../../delivery/protocol/message-headers.ts'
import type { Decision, Pair, Routing } from './decision.ts'
import { headerValue, RoutingError, setQuery } from './destination.ts'
import { routedOf, searchOf } from './request.ts'

/** The response without its body. Headers have lower-case names and keep their order. */
export type MiddlewareAnswer = { status: number; headers: Pair[] }

/** Headers that describe the response body, which is dropped when routing continues. */
const OF_THE_BODY = new Set(['content-type', 'content-encoding', 'date'])
const OVERRIDE = 'x-middleware-override-headers'
const REQUEST_PREFIX = 'x-middleware-request-'

/** Applies the changes of a middleware. Returns a decision if routing ends: its response for the visitor, or another origin. */
export function applyAnswer(routing: Routing, answer: MiddlewareAnswer): Decision | undefined {
  const values = new Map(answer.headers)
  takeHeaders(routing, answer.headers)
  const rewrite = values.get('x-middleware-rewrite')
  if (rewrite === undefined && values.get('x-middleware-next') !== '1') {
    return { ...routedOf(routing), kind: 'answer', status: answer.status }
  }
  if (values.has(OVERRIDE)) overrideHeaders(routing, values)
  return rewrite === undefined ? undefined : applyRewrite(routing, rewrite, answer.status)
}

function takeHeaders(routing: Routing, headers: Pair[]): void {
  for (const [name, value] of headers) {
    if (name === 'set-cookie') routing.cookies.push(headerValue(value))
    else if (!name.startsWith('x-middleware-') && !MESSAGE_HEADERS.has(name) && !OF_THE_BODY.has(name)) {
      routing.headers.set(name, headerValue(value))
    }
  }
}

/** The list names all remaining headers of the request. Headers of the message and the platform stay. */
function overrideHeaders(routing: Routing, values: ReadonlyMap<string, string>): void {
  const listed = values
    .get(OVERRIDE)!
    .split(',')
    .map((name) => name.trim().toLowerCase())
  const remaining = new Set(listed)
  for (const name of [...routing.requestHeaders.keys()]) {
    if (!remaining.has(name) && !isOfThePlatform(name)) routing.requestHeaders.delete(name)
  }
  for (const name of remaining) {
    const value = values.get(REQUEST_PREFIX + name)
    if (value !== undefined && !isOfThePlatform(name)) routing.requestHeaders.set(name, headerValue(value))
  }
  routing.headersChanged = true
}

function isOfThePlatform(name: string): boolean {
  return (
    MESSAGE_HEADERS.has(name) || name.startsWith('x-forwarded-') || name.startsWith('x-vercel-') || name === 'x-real-ip'
  )
}

/** The query is that of the rewrite alone. An error status, such as that of a page for maintenance, is that of what is found there. */
function applyRewrite(routing: Routing, rewrite: string, given: number): Decision | undefined {
  const status = given >= 400 ? given : undefined
  const here = URL.parse(`http://${routing.host}/`)
  const target = URL.parse(rewrite, here?.href)
  if (target === null || !/^https?:$/.test(target.protocol)) throw new RoutingError('ROUTER_EXTERNAL_TARGET_ERROR')
  if (target.hostname !== here?.hostname) {
    const request = { ...forwardedOf(routing), search: '' }
    return { ...routedOf(routing), kind: 'proxy', url: target.href, request, ...(status && { status }) }
  }
  routing.path = target.pathname
  routing.rewriteStatus = status
  setQuery(routing, [...target.searchParams])
  return undefined
}

/** Returns the request for another origin or a middleware. */
export function forwardedOf(routing: Routing) {
  return {
    path: routing.path,
    search: searchOf(routing),
    ...(routing.headersChanged && { headers: [...routing.requestHeaders] as Pair[] }),
  }
}
