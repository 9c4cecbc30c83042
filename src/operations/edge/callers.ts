/** Authentication at the edge listener. docs/edge.md: Listener and authentication. */
import type { IncomingMessage } from 'node:http'
import { bearerOf, pathOf, plain, tokenCheck } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'

export const CHECK = '/edge/v1/check'
export const PAGE = '/edge/v1/page'

/** Admits requests with the token, if set. Without a token, admits this machine under its own names, to stop DNS rebinding. */
export function admission(
  token: string | undefined,
): (request: IncomingMessage, query: URLSearchParams) => EdgeResponse | undefined {
  const isToken = token === undefined ? undefined : tokenCheck(token)
  return (request, query) => {
    if (isToken === undefined) {
      if (!isLoopback(request.socket.remoteAddress ?? ''))
        return plain(403, 'Set BERTH_EDGE_TOKEN to allow proxies on other machines.')
      return isForUs(request) ? undefined : plain(403, NOT_OUR_NAME)
    }
    if (isToken(query.get('token'))) return undefined
    return isToken(bearerOf(request)) ? undefined : plain(401, 'Send BERTH_EDGE_TOKEN as a bearer token or as ?token=')
  }
}

/** Recognizes a sites server, which serves outputs and needs no upstream. Its token is in the query when the visitor has an Authorization header. */
export function sitesCheck(token: string | undefined): (request: IncomingMessage, query: URLSearchParams) => boolean {
  if (token === undefined) return () => false
  const isToken = tokenCheck(token)
  return (request, query) => isToken(bearerOf(request)) || isToken(query.get('token'))
}

const NOT_OUR_NAME =
  'Without BERTH_EDGE_TOKEN this listener accepts only 127.0.0.1, [::1] and localhost as Host: use one of them, or set the token.'

/**
 * Whether the `Host` cannot come from a page of another site. Visitor requests have the site's name and another port. Browsers always send `Host`;
 * probes may omit it.
 */
function isForUs(request: IncomingMessage): boolean {
  const { host } = request.headers
  if (host === undefined || LOOPBACK_HOST.test(host)) return true
  return isOfVisitor(pathOf(request)) && (/:(\d+)$/.exec(host)?.[1] ?? '80') !== String(request.socket.localPort)
}

const LOOPBACK_HOST = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)(?::\d{1,5})?$/i

/** Whether a path carries the visitor's own `Host`. */
export function isOfVisitor(path: string): boolean {
  return path === PAGE || path === CHECK || path.startsWith(`${CHECK}/`)
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./.test(address) || address === '::1'
}
