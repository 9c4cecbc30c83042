/**
 * The fixed words of a path are taken in one spelling. The router decodes a path before it compares, so that `/%6fperator` would be
 * `/operator`: equivalent by RFC 3986 6.2.2.2, but a proxy that shuts `/operator` and compares what was sent would let it pass.
 */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../refusals/refusal.ts'

const ODD = /[%#]|\/(?:[/?]|$)/

/** On a route whose `config` is this, a slash at the end and `http://host` before it are another path too: proxies shut such routes. */
export const STRICT_PATH = { exact: true }

const NO_PATH =
  'Invalid request: what is asked for should be a path that begins with "/", or an address with a host and a path.'

/** Refuses, before anything is looked at, what was routed by another spelling (not_found 404) and what is no path (bad_request 400). */
export function rejectPathVariants(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _, done) => {
    if (!request.raw.url!.startsWith('/')) return done(new Refusal('bad_request', NO_PATH, {}))
    if (!request.originalUrl.startsWith('/') && isExact(request)) return done(pathNotFound(request))
    // What an odd spelling needs: an escape, a `#`, which the router cuts off, or a slash at the end or before another.
    if (!ODD.test(request.raw.url!)) return done()
    const { url } = request.routeOptions
    if (url === undefined || matchesPathExactly(request.raw.url!, url, isExact(request))) done()
    else done(pathNotFound(request))
  })
}

function isExact({ routeOptions }: FastifyRequest): boolean {
  return 'exact' in routeOptions.config
}

/** The refusal (not_found 404) for a path at which nothing is served. It names the path as it was sent. */
export function pathNotFound({ originalUrl }: Pick<FastifyRequest, 'originalUrl'>): Refusal {
  return new Refusal('not_found', `There is nothing at ${originalUrl.split('?', 1)[0]!.slice(0, 200)}.`, {})
}

/**
 * Whether a request target (path and query, without the version) spells the fixed words of the pattern that it was routed to as they
 * are; what stands for a `:name` is free, but not nothing. One slash more at the end is let pass, unless `exact`.
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
