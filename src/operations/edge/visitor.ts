/**
 * Reads a visitor's request from the headers of the proxy. Trusts only those that proxies set: X-Forwarded-Host, -Proto, -For and -Uri, or else Host
 * and the path; never X-Edge-* of a visitor. docs/edge.md.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { readHost } from '../../platform/verdict/host-name.ts'
import { SIGN_IN_HEADERS } from '../../platform/verdict/site-sign-in.ts'
import type { Visitor } from '../../platform/verdict/verdict.ts'

/** Reads the visitor. `path`: what follows the check path; Envoy puts the visitor's path there. */
export function readVisitor(headers: IncomingHttpHeaders, path: string): Visitor {
  const { host, port } = readHost(lastOf(headers['x-forwarded-host']) ?? headers.host ?? '') ?? NO_HOST
  const uri = readUri(lone(headers['x-forwarded-uri']) ?? path)
  return {
    host,
    port,
    scheme: lastOf(headers['x-forwarded-proto']) === 'http' ? 'http' : 'https',
    uri,
    ip: lastOf(headers['x-forwarded-for']) ?? '',
    password: readPassword(headers.authorization),
    bypass: lone(headers[BYPASS]) || bypassIn(uri),
  }
}

/** Reads headers of sites servers: the member's cookie secret, which they strip from visitor requests, and whether a source map is requested. */
export function readSeenBySites(headers: IncomingHttpHeaders): Pick<Visitor, 'session' | 'wantsSourceMap'> {
  return {
    session: lone(headers[SIGN_IN_HEADERS.session]),
    wantsSourceMap: headers[SIGN_IN_HEADERS.sourceMap] !== undefined,
  }
}

const BYPASS = 'x-vercel-protection-bypass'

function bypassIn(uri: string): string | undefined {
  if (!uri.includes(BYPASS)) return undefined
  return new URLSearchParams(uri.slice(uri.indexOf('?') + 1)).get(BYPASS) ?? undefined
}

/** The password follows the first colon (RFC 7617). */
function readPassword(authorization = ''): string | undefined {
  const [, encoded] = /^Basic ([\w+/]+=*)$/i.exec(authorization) ?? []
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString()
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) : undefined
}

const NO_HOST = { host: '', port: '' }

/** Normalizes a host name. */
export function readName(header: string): string {
  return (readHost(header) ?? NO_HOST).host
}

/** With several proxies in a row, the last entry is from the one in front of Berth. */
function lastOf(header: string | string[] | undefined): string | undefined {
  return lone(header)?.split(',').at(-1)?.trim()
}

function lone(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.at(-1) : header
}

/** From the first slash on: a request line may hold a full URL, whose start is untrusted. */
function readUri(header: string): string {
  if (header.startsWith('/')) return header
  const url = URL.parse(header)
  return url === null ? '/' : url.pathname + url.search
}
