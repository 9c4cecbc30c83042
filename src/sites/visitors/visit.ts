/** A visitor's request as it came, read for the verdict on its host and for the router. docs/deploying-sites.md: The sites server. */
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
  /** What may let a visitor into a protected site: the headers as they came. */
  credentials: { authorization: string | undefined; bypass: string | undefined; session: string | undefined }
}

/** An address of IPv6 is a host too, and nobody has it. */
const IPV6_HOST = /^\[[0-9a-f:.]{2,45}\](?::\d{1,5})?$/i
/** RFC 9112 3.2.2. A user name before the host is a fault. */
const ABSOLUTE = /^https?:\/\/([^/?#]*)(.*)$/i

/** Reads a request. A sentence says what is wrong with one that cannot be answered. Headers of a proxy count where it is a trusted one. */
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

/** Who asks, and by which scheme: what the connection says, or a trusted proxy in front. */
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

/** Where proxies stand in a row, the last entry is that of the one in front of us. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return (Array.isArray(header) ? header.at(-1) : header)?.split(',').at(-1)?.trim()
}

/** The names that a header `Connection` lists, in lower case: such headers are for the next hop alone (RFC 9110 7.6.1). */
export function namesIn(connection: string | undefined): ReadonlySet<string> {
  return new Set((connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
}

/** The headers that routes and other servers see: the visitor's without those of the connection, and in the place of those that only the platform may set, ours. */
function headersOf(pairs: Iterable<Pair>, { ip, host, port, scheme }: Visitor): Map<string, string> {
  const headers = visitorHeaders(pairs)
  // `Via` counts hops, and nobody may begin anew.
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
