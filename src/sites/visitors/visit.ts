/** Parses a visitor's request for the host verdict and the router. docs/deploying-sites.md: Sites server. */
import type { IncomingMessage } from 'node:http'
import type { ConnectionSettings } from '../../config.ts'
import { clientAddress, isTrusted } from '../../platform/base/network.ts'
import { readHost } from '../../platform/verdict/host-name.ts'
import type { Visitor } from '../../platform/verdict/verdict.ts'
import type { Pair } from '../router/decision.ts'
import { type VisitorRequest, visitorHeaders } from '../router/request.ts'
import { bypassOf } from './bypass-cookie.ts'
import { readOwnCookie, withoutOwnCookies } from './cookies.ts'

export type Visit = {
  visitor: Visitor
  request: VisitorRequest
  /** Raw headers that may grant access to a protected site. */
  credentials: { authorization: string | undefined; bypass: string | undefined; session: string | undefined }
}

/** An IPv6 address is a valid host that no site has. */
const IPV6_HOST = /^\[[0-9a-f:.]{2,45}\](?::\d{1,5})?$/i
/** RFC 9112 3.2.2. A user name before the host is an error. */
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)/is

/** Parses a request. Returns a message if it is invalid. Proxy headers count only from a trusted proxy. */
export function readVisit(
  raw: IncomingMessage,
  { trustedProxies }: Pick<ConnectionSettings, 'trustedProxies'>,
): Visit | { sentence: string } {
  const target = raw.url ?? ''
  const [, authority, rest = ''] = target.startsWith('/') ? [] : (ABSOLUTE.exec(target) ?? [])
  const uri = authority === undefined ? target : rest.replace(/^(?!\/)/, '/')
  if (!uri.startsWith('/'))
    return { sentence: 'The request should ask for a path that begins with "/", or for a whole URL.' }
  const pairs = pairsOf(raw.rawHeaders)
  if (pairs.filter(([name]) => name.length === 4 && name.toLowerCase() === 'host').length > 1)
    return { sentence: 'The request should have one header Host, and has several.' }
  const named = authority ?? raw.headers.host ?? ''
  const address = readHost(named) ?? (IPV6_HOST.test(named) ? { host: '', port: '' } : undefined)
  if (address === undefined)
    return { sentence: 'The header Host should be the name of a site, such as www.example.com.' }
  const peer = peerOf(raw, trustedProxies)
  const visitor = { ...address, ...peer, uri, password: undefined, bypass: undefined }
  const question = uri.indexOf('?')
  const request = {
    method: raw.method ?? 'GET',
    host: address.host,
    path: question === -1 ? uri : uri.slice(0, question),
    search: question === -1 ? '' : uri.slice(question),
    headers: headersOf(pairs, visitor),
  }
  const credentials = {
    authorization: raw.headers.authorization,
    bypass: bypassOf(raw, visitor),
    session: readOwnCookie(raw.headers.cookie, 'berth_site', visitor.scheme === 'https'),
  }
  return { visitor, request, credentials }
}

function pairsOf(rawHeaders: readonly string[]): Pair[] {
  const pairs: Pair[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) pairs.push([rawHeaders[at]!, rawHeaders[at + 1]!])
  return pairs
}

/** The client address and scheme, from the connection or a trusted proxy. */
function peerOf(
  { socket, headers }: IncomingMessage,
  trusted: ConnectionSettings['trustedProxies'],
): Pick<Visitor, 'ip' | 'scheme'> {
  const { remoteAddress = '' } = socket
  const ip = clientAddress(remoteAddress, [headers['x-forwarded-for'] ?? ''].flat().join(), trusted)
  const scheme = 'encrypted' in socket ? 'https' : 'http'
  if (!isTrusted(trusted, remoteAddress)) return { ip, scheme }
  const proto = lastOf(headers['x-forwarded-proto'])
  return { ip, scheme: proto === 'https' || proto === 'http' ? proto : scheme }
}

/** In a chain of proxies, the last entry is from the one in front of us. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header.at(-1) : header)?.split(',').at(-1)?.trim()
}

/** Returns the lower-case names in a `Connection` header: such headers are for the next hop only (RFC 9110 7.6.1). */
export function namesIn(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
}

/** Headers for routes and other servers: the visitor's without connection headers, with ours for those that only the platform may set. */
function headersOf(pairs: Iterable<Pair>, { ip, host, port, scheme }: Visitor): Map<string, string> {
  const headers = visitorHeaders(pairs)
  // `Via` counts hops, so a visitor must not reset it.
  for (const name of namesIn(headers.get('connection'))) if (name !== 'via') headers.delete(name)
  const cookies = withoutOwnCookies(headers.get('cookie') ?? '')
  if (cookies) headers.set('cookie', cookies)
  else headers.delete('cookie')
  headers.set('host', host + port)
  headers.set('x-forwarded-for', ip)
  headers.set('x-forwarded-host', host + port)
  headers.set('x-forwarded-proto', scheme)
  headers.set('x-real-ip', ip)
  return headers
}

/** Returns whether a request wants a WebSocket. Upgrades to other protocols are ignored (RFC 9110 7.8). */
export function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade)
}
