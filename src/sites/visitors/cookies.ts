/** Isolates cookies of sites, which share the platform's suffix. docs/deploying-sites.md: Cookies. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { cookiePairs, soleCookie, withoutBlanks } from '../../platform/verdict/cookie-pairs.ts'
import { readHost } from '../../platform/verdict/host-name.ts'
import { changeHeaders } from './send.ts'

/** Browsers store no cookie above 4 KiB. */
const MAX_COOKIE = 8 * 1024

/** TABLE Berth's own cookies on hosts of sites. */
const OWN = ['berth_site', 'berth_site_begun', 'berth_bypass'] as const
type OwnCookie = (typeof OWN)[number]

/** `__Host-` binds a cookie to this host over https. Browsers reject it over plain http (a local machine), so the prefix is omitted there. */
function nameOf(cookie: OwnCookie, isSecure: boolean): string {
  return isSecure ? `__Host-${cookie}` : cookie
}

/** Returns a Berth cookie that is there once. */
export function readOwnCookie(header: string | undefined, cookie: OwnCookie, isSecure: boolean): string | undefined {
  return soleCookie(cookiePairs(header), nameOf(cookie, isSecure))
}

/** Builds a `Set-Cookie` of Berth for this host only. `seconds` 0 deletes it. `sameSite` None allows frames of other sites. */
export function ownCookie(
  cookie: OwnCookie,
  value: string,
  seconds: number,
  isSecure: boolean,
  sameSite: 'Lax' | 'None' = 'Lax',
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${nameOf(cookie, isSecure)}=${value}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${seconds}${secure}`
}

/** Removes Berth's cookies from a `Cookie` header, so that sites never see them. Returns undefined if none is left. */
export function withoutOwnCookies(header: string): string | undefined {
  const pairs = header.split(';').filter((pair) => !isOwn(pair.split('=', 1)[0]!))
  return pairs.length === 0 ? undefined : withoutBlanks(pairs.join(';'))
}

/** Browsers compare names exactly, except for the prefix; servers behind us may not. */
function isOwn(name: string): boolean {
  const bare = name
    .trim()
    .toLowerCase()
    .replace(/^__(?:host|secure|http|host-http)-/, '')
  return (OWN as readonly string[]).includes(bare)
}

/** Some browsers send a cookie without a name as if its value were a cookie. */
function setsOwn(cookie: string): boolean {
  return isOwn(cookie.replace(/^[\s=]+/, '').split(/[=;]/, 1)[0]!)
}

/** Removes response headers that affect other sites: the attribute `Domain` for the suffix or a parent domain, and `Clear-Site-Data` for cookies. */
export function keepCookiesApart(response: ServerResponse, suffix: string): void {
  changeHeaders(response, (headers) => {
    // Most responses have no such header.
    if (!Object.keys(headers).some(isOfCookies)) return headers
    const apart: OutgoingHttpHeaders = {}
    for (const [name, value] of Object.entries(headers)) {
      const attribute = keptOf(name.toLowerCase(), value, { suffix, named: response.req.headers.host ?? '' })
      if (attribute !== undefined) apart[name] = attribute
    }
    return apart
  })
}

function isOfCookies(name: string): boolean {
  const lower = name.toLowerCase()
  return lower === 'set-cookie' || lower === 'clear-site-data'
}

function keptOf(
  name: string,
  value: OutgoingHttpHeaders[string],
  { suffix, named }: { suffix: string; named: string },
): OutgoingHttpHeaders[string] {
  if (value === undefined) return undefined
  if (name === 'clear-site-data') return clearsCookies(String(value)) && isBelow(named, suffix) ? undefined : value
  if (name !== 'set-cookie') return value
  const cookies = [value].flat().map(String)
  const usable = cookies.filter((cookie) => cookie.length <= MAX_COOKIE && !setsOwn(cookie))
  return usable.length === 0 ? undefined : usable.map((cookie) => withoutSharedDomain(cookie, suffix))
}

function clearsCookies(directives: string): boolean {
  return /cookies|\*/i.test(directives)
}

/** Returns whether `Host` names a site below the suffix. An unreadable one may. */
function isBelow(named: string, suffix: string): boolean {
  const host = readHost(named)?.host
  return host === undefined || host === suffix || host.endsWith(`.${suffix}`)
}

/** Removes a shared domain from a cookie, which then returns only to the host that set it. */
export function withoutSharedDomain(cookie: string, suffix: string): string {
  const [pair = '', ...attributes] = cookie.split(';')
  const remaining = attributes.filter((attribute) => {
    const equals = attribute.indexOf('=')
    const isDomain = equals >= 0 && attribute.slice(0, equals).trim().toLowerCase() === 'domain'
    return !isDomain || !isShared(attribute.slice(equals + 1).trim(), suffix)
  })
  return [pair, ...remaining].join(';')
}

/** Returns whether a domain is the suffix or above it. RFC 6265 5.2.3: a leading dot is ignored. */
function isShared(domain: string, suffix: string): boolean {
  const name = domain.replace(/^\./, '').replace(/\.$/, '').toLowerCase()
  return name === suffix || suffix.endsWith(`.${name}`)
}
