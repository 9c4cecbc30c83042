/**
 * The cookie by which a browser that automation drives stays in a protected site: asked for beside a bypass secret, which it holds. Each request is
 * judged by that secret, so one that is revoked lets nobody in any more. docs/edge.md: Protection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { mayHoldSession } from '../../platform/verdict/site-sign-in.ts'
import type { Visitor } from '../../platform/verdict/verdict.ts'
import { ownCookie, readOwnCookie } from './cookies.ts'

const SECRET = 'x-vercel-protection-bypass'
const WISH = 'x-vercel-set-bypass-cookie'
const SECONDS = 24 * 60 * 60
/** What a cookie can hold as it is: secrets are 32 letters and digits, or what somebody chose. */
const VALUE = /^[\w.~-]{1,256}$/

type Asked = Pick<Visitor, 'scheme' | 'host' | 'uri'>

/** The secret that a request says: in a header, else in the query, else in the cookie. Undefined where the query has it, which the control plane reads itself. */
export function bypassOf({ headers }: IncomingMessage, { scheme, uri }: Asked): string | undefined {
  const said = lastOf(headers[SECRET])
  if (said || inQuery(uri, SECRET)) return said
  return readOwnCookie(headers.cookie, 'berth_bypass', scheme === 'https')
}

/** Keeps the secret of a visitor who was let in, where they ask for it. `samesitenone` is for pages in frames of other sites, over https alone. */
export function keepBypass({ headers }: IncomingMessage, response: ServerResponse, visitor: Asked): void {
  const { scheme, host, uri } = visitor
  const secret = lastOf(headers[SECRET]) || inQuery(uri, SECRET)
  const wish = (lastOf(headers[WISH]) || inQuery(uri, WISH))?.toLowerCase()
  if (!secret || !VALUE.test(secret) || !mayHoldSession(scheme, host)) return
  if (wish !== 'true' && wish !== 'samesitenone') return
  const isSecure = scheme === 'https'
  const sameSite = wish === 'samesitenone' && isSecure ? 'None' : 'Lax'
  response.appendHeader('set-cookie', ownCookie('berth_bypass', secret, SECONDS, isSecure, sameSite))
}

/** As it is written: what is escaped is no secret that a cookie holds. */
function inQuery(uri: string, name: string): string | undefined {
  const query = uri.includes('?') ? uri.slice(uri.indexOf('?') + 1) : ''
  const begin = `${name}=`
  return query
    .split('&')
    .find((pair) => pair.startsWith(begin))
    ?.slice(begin.length)
}

function lastOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.at(-1) : header
}
