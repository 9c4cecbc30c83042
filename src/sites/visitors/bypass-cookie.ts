/** Cookie with a bypass secret for automated browsers, checked on each request. docs/edge.md: Protection. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { canHoldSession } from '../../platform/verdict/site-sign-in.ts'
import type { Visitor } from '../../platform/verdict/verdict.ts'
import { ownCookie, readOwnCookie } from './cookies.ts'
import { changeHeaders } from './send.ts'

const SECRET = 'x-vercel-protection-bypass'
const WISH = 'x-vercel-set-bypass-cookie'
const SECONDS = 24 * 60 * 60
/** Values that a cookie can hold unescaped: generated secrets of 32 letters and digits, or custom ones. */
const VALUE = /^[\w.~-]{1,256}$/

type Asked = Pick<Visitor, 'scheme' | 'host' | 'uri'>

/** Returns the bypass secret of a request from a header, else the cookie. Undefined if the query has one, which the control plane reads itself. */
export function bypassOf({ headers }: IncomingMessage, { scheme, uri }: Asked): string | undefined {
  const sent = lastOf(headers[SECRET])
  if (sent || inQuery(uri, SECRET)) return sent
  return readOwnCookie(headers.cookie, 'berth_bypass', scheme === 'https')
}

/** Sets the cookie for an admitted visitor who requests it. `samesitenone` is for frames of other sites, over https only. */
export function keepBypass({ headers }: IncomingMessage, response: ServerResponse, visitor: Asked): void {
  const { scheme, host, uri } = visitor
  const secret = lastOf(headers[SECRET]) || inQuery(uri, SECRET)
  const wish = (lastOf(headers[WISH]) || inQuery(uri, WISH))?.toLowerCase()
  if (!secret || !VALUE.test(secret) || !canHoldSession(scheme, host)) return
  if (wish !== 'true' && wish !== 'samesitenone') return
  const isSecure = scheme === 'https'
  const sameSite = wish === 'samesitenone' && isSecure ? 'None' : 'Lax'
  response.appendHeader('set-cookie', ownCookie('berth_bypass', secret, SECONDS, isSecure, sameSite))
}

/** Sends Berth's cookies with those of the site, which would replace them. Call it before `keepCookiesApart`, which removes Berth's from those of the site. */
export function keepOwnCookies(response: ServerResponse): void {
  changeHeaders(response, (headers) => {
    const own = response.getHeader('set-cookie')
    const others = headers['set-cookie']
    if (own === undefined || others === undefined) return headers
    return { ...headers, 'set-cookie': [own, others].flat().map(String) }
  })
}

/** The raw value: an escaped one does not fit into a cookie. */
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
