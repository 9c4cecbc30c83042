/**
 * Keeps the cookies of sites apart: all sites under the platform's suffix share that domain, so a cookie for it would reach the sites of others,
 * and a site that has its cookies cleared would clear theirs. docs/deploying-sites.md: Cookies.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { readHost } from '../../platform/verdict/host-name.ts'

/** Browsers keep no cookie of more than 4 KiB. */
const MAX_COOKIE = 8 * 1024

/** TABLE cookies of Berth itself on the hosts of sites. */
const OWN = ['berth_site', 'berth_site_begun', 'berth_bypass'] as const
type OwnCookie = (typeof OWN)[number]

/** `__Host-` ties a cookie to this host, to https and to no domain. Browsers refuse it over plain http, which is for one's own machine: there the name goes without. */
function nameOf(cookie: OwnCookie, isSecure: boolean): string {
  return isSecure ? `__Host-${cookie}` : cookie
}

/**
 * The value of a cookie of Berth in a `Cookie` header, by the grammar of RFC 6265 4.2.1. A name that is there twice says two things, and so nothing:
 * another host under the suffix, or a script, may have set one of them.
 */
export function readOwnCookie(header: string | undefined, cookie: OwnCookie, isSecure: boolean): string | undefined {
  const begin = `${nameOf(cookie, isSecure)}=`
  const values = (header ?? '').split(';').flatMap((pair) => {
    const text = pair.replace(/^[ \t]+|[ \t]+$/g, '')
    return text.startsWith(begin) ? [text.slice(begin.length)] : []
  })
  return values.length === 1 ? values[0] : undefined
}

/** A `Set-Cookie` of Berth for this host alone. `seconds`: 0 takes it away. `sameSite`: None lets the pages of other sites show it in a frame. */
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

/** A `Cookie` header without those of Berth, which no site is told; undefined where nothing is left. */
export function withoutOwnCookies(header: string): string | undefined {
  const kept = header.split(';').filter((pair) => !isOwn(pair.split('=', 1)[0]!))
  return kept.length === 0 ? undefined : kept.join(';').trim()
}

/** Browsers compare names exactly, but for the prefix; whoever reads them behind us may not. */
function isOwn(name: string): boolean {
  const bare = name
    .trim()
    .toLowerCase()
    .replace(/^__(?:host|secure|http|host-http)-/, '')
  return (OWN as readonly string[]).includes(bare)
}

/** Some browsers send the value of a cookie without a name as if it was a cookie. */
function setsOwn(cookie: string): boolean {
  return isOwn(cookie.replace(/^[\s=]+/, '').split(/[=;]/, 1)[0]!)
}

/** Takes off a response what would reach the sites of others: the attribute `Domain` of cookies that are meant for the suffix, or for a domain above it, and `Clear-Site-Data` for cookies. */
export function keepCookiesApart(response: ServerResponse, suffix: string): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers?: OutgoingHttpHeaders,
  ) => ServerResponse
  response.writeHead = ((status: number, headers?: OutgoingHttpHeaders) => {
    // Most answers set none.
    if (headers === undefined || !Object.keys(headers).some(isOfCookies)) return writeHead(status, headers)
    const apart: OutgoingHttpHeaders = {}
    for (const [name, value] of Object.entries(headers)) {
      const kept = keptOf(name.toLowerCase(), value, { suffix, named: response.req.headers.host ?? '' })
      if (kept !== undefined) apart[name] = kept
    }
    return writeHead(status, apart)
  }) as ServerResponse['writeHead']
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
  const kept = cookies.filter((cookie) => cookie.length <= MAX_COOKIE && !setsOwn(cookie))
  return kept.length === 0 ? undefined : kept.map((cookie) => withoutSharedDomain(cookie, suffix))
}

function clearsCookies(directives: string): boolean {
  return /cookies|\*/i.test(directives)
}

/** Whether a header `Host` names a site below the suffix. One that cannot be read may. */
function isBelow(named: string, suffix: string): boolean {
  const host = readHost(named)?.host
  return host === undefined || host === suffix || host.endsWith(`.${suffix}`)
}

/** A cookie without a domain that others share: it goes back to the host that set it alone. */
export function withoutSharedDomain(cookie: string, suffix: string): string {
  const [pair = '', ...attributes] = cookie.split(';')
  const kept = attributes.filter((attribute) => {
    const equals = attribute.indexOf('=')
    const isDomain = equals >= 0 && attribute.slice(0, equals).trim().toLowerCase() === 'domain'
    return !isDomain || !isShared(attribute.slice(equals + 1).trim(), suffix)
  })
  return [pair, ...kept].join(';')
}

/** Whether a domain is the suffix or above it. RFC 6265 5.2.3: a dot before it says nothing. */
function isShared(domain: string, suffix: string): boolean {
  const name = domain.replace(/^\./, '').replace(/\.$/, '').toLowerCase()
  return name === suffix || suffix.endsWith(`.${name}`)
}
