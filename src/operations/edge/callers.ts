/** Who may ask the listener for proxies, and who is a sites server. docs/edge.md: Where it listens, and who may ask. */
import type { IncomingMessage } from 'node:http'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { bearerOf, pathOf, plain, tokenCheck } from './plain-answer.ts'

export const CHECK = '/edge/v1/check'
export const PAGE = '/edge/v1/page'

/** Admits by the token where one is set. Where none is set, admits this machine, by a name of this machine: DNS rebinding leads pages of others here. */
export function admission(
  token: string | undefined,
): (request: IncomingMessage, query: URLSearchParams) => EdgeResponse | undefined {
  const isToken = token === undefined ? undefined : tokenCheck(token)
  return (request, query) => {
    if (isToken === undefined) {
      if (!isLoopback(request.socket.remoteAddress ?? ''))
        return plain(403, 'Set BERTH_EDGE_TOKEN to let proxies on other machines ask.')
      return isForUs(request) ? undefined : plain(403, NOT_OUR_NAME)
    }
    if (isToken(query.get('token'))) return undefined
    return isToken(bearerOf(request)) ? undefined : plain(401, 'Send BERTH_EDGE_TOKEN as a bearer token or as ?token=')
  }
}

/**
 * Whether a request is of a sites server, which serves outputs by itself and needs no upstream. The token comes in the query where the visitor has
 * an Authorization of their own.
 */
export function sitesCheck(token: string | undefined): (request: IncomingMessage, query: URLSearchParams) => boolean {
  if (token === undefined) return () => false
  const isToken = tokenCheck(token)
  return (request, query) => isToken(bearerOf(request)) || isToken(query.get('token'))
}

const NOT_OUR_NAME =
  'Without BERTH_EDGE_TOKEN this listener answers to 127.0.0.1, [::1] and localhost alone: ask by one of them, or set the token.'

/**
 * Whether the `Host` is one that no page of another site can bring. A visitor's request has the name of the site, and a port that is not this
 * listener's. A browser always sends `Host`, and probes may leave it out.
 */
function isForUs(request: IncomingMessage): boolean {
  const { host } = request.headers
  if (host === undefined || LOOPBACK_HOST.test(host)) return true
  return isOfVisitor(pathOf(request)) && (/:(\d+)$/.exec(host)?.[1] ?? '80') !== String(request.socket.localPort)
}

const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::\d{1,5})?$/i

/** Whether a path is asked for a visitor, with the visitor's own `Host`. */
export function isOfVisitor(path: string): boolean {
  return path === PAGE || path === CHECK || path.startsWith(`${CHECK}/`)
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./.test(address) || address === '::1'
}
