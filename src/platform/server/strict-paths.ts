/**
 * Fixed path segments have one spelling. The router decodes `/%6fperator` to `/operator`, equivalent by RFC 3986 6.2.2.2. But a proxy that blocks
 * `/operator` by the raw path would let it pass.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../refusals/refusal.ts'

const ODD = /[%#]|\/(?:[/?]|$)/

/** Route `config` that also rejects a trailing slash and an absolute URL, because proxies block such routes. */
export const STRICT_PATH = { exact: true }

const NO_PATH =
  'Invalid request: the request target should be a path that begins with "/", or a URL with a host and a path.'

/** Refuses, first of all, path variants (not_found 404) and targets that are not paths (bad_request 400). */
export function rejectPathVariants(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _, done) => {
    if (!request.raw.url!.startsWith('/')) return done(new Refusal('bad_request', NO_PATH, {}))
    if (!request.originalUrl.startsWith('/') && isExact(request)) return done(pathNotFound(request))
    // A variant contains an escape, a `#`, which the router cuts off, or a trailing or double slash.
    if (!ODD.test(request.raw.url!)) return done()
    const { url } = request.routeOptions
    if (url === undefined || matchesPathExactly(request.raw.url!, url, isExact(request))) done()
    else done(pathNotFound(request))
  })
}

function isExact({ routeOptions }: FastifyRequest): boolean {
  return 'exact' in routeOptions.config
}

/** Returns the error (not_found 404) of a path without routes. It names the path as sent. */
export function pathNotFound({ originalUrl }: Pick<FastifyRequest, 'originalUrl'>): Refusal {
  return new Refusal('not_found', `There is nothing at ${originalUrl.split('?', 1)[0]!.slice(0, 200)}.`, {})
}

/**
 * Whether a request target (path and query, without the version) spells the fixed segments of its pattern exactly. Parameters are free but not empty.
 * A trailing slash is allowed unless `exact`.
 */
export function matchesPathExactly(url: string, pattern: string, exact: boolean): boolean {
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  if (path.includes('#')) return false
  const bare = !exact && path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  const [segments, words] = [bare.split('/'), pattern.split('/')]
  return (
    segments.length === words.length &&
    words.every((word, at) => (word.startsWith(':') ? segments[at] !== '' : word === segments[at]))
  )
}
