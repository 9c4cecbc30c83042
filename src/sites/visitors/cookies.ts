/**
 * Keeps the cookies of sites apart: all sites under the platform's suffix share that domain, so a cookie for it would reach the sites of others,
 * and a site that has its cookies cleared would clear theirs. docs/deploying-sites.md: Cookies.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { readHost } from '../../platform/verdict/host-name.ts'

/** Browsers keep no cookie of more than 4 KiB. */
const LONGEST_COOKIE = 8 * 1024

/** Takes off a response what would reach the sites of others: the attribute `Domain` of cookies that are meant for the suffix, or for a domain above it, and `Clear-Site-Data` for cookies. */
export function keepCookiesApart(response: ServerResponse, suffix: string): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers?: OutgoingHttpHeaders,
  ) => ServerResponse
  response.writeHead = ((status: number, headers?: OutgoingHttpHeaders) => {
    if (headers === undefined) return writeHead(status)
    const apart: OutgoingHttpHeaders = {}
    for (const [name, value] of Object.entries(headers)) {
      const kept = keptOf(name.toLowerCase(), value, { suffix, named: response.req.headers.host ?? '' })
      if (kept !== undefined) apart[name] = kept
    }
    return writeHead(status, apart)
  }) as ServerResponse['writeHead']
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
  const kept = cookies.filter((cookie) => cookie.length <= LONGEST_COOKIE)
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
