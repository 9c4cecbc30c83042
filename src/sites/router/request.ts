/** The routing state of a visitor's request. docs/deploying-sites.md: Router. */
import type { Header } from '../../delivery/protocol/routing-manifest.ts'
import { cookiePairs } from '../../platform/verdict/cookie-pairs.ts'
import type { Pair, ResponseTransform, Routed, Routing, Subject } from './decision.ts'

/**
 * The request from the sites server. `path` is percent-encoded (`beginRouting` normalizes it). `search` has its question mark, or
 * is empty. `headers` have lower-case names. `listsFolders`: folders without an index are listed.
 */
export type VisitorRequest = {
  method: string
  host: string
  path: string
  search: string
  headers: ReadonlyMap<string, string>
  listsFolders?: boolean
}

/** The most parts of a request on which a decision that is used again depends. */
export const MAX_LOOKED = 16

/** TABLE headers that only the platform sets, because functions and rules trust them. A trailing dash marks a prefix. */
const PLATFORM_HEADERS = [
  'forwarded',
  'next-resume',
  'x-forwarded-',
  'x-matched-path',
  'x-middleware-',
  'x-next-resume-',
  'x-now-',
  'x-real-ip',
  'x-vercel-',
] as const

/** Returns a visitor's headers by lower-case name, without platform headers. Values of one name are joined (RFC 9110 5.3; cookies RFC 6265 5.4). */
export function visitorHeaders(pairs: Iterable<Pair>): Map<string, string> {
  const headers = new Map<string, string>()
  for (const [key, value] of pairs) {
    const name = key.toLowerCase()
    if (PLATFORM_HEADERS.some((row) => (row.endsWith('-') ? name.startsWith(row) : name === row))) continue
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}${name === 'cookie' ? '; ' : ', '}${value}`)
  }
  return headers
}

/** Creates the routing state of a request. */
export function beginRouting({ method, host, path: given, search, headers, listsFolders }: VisitorRequest): Routing {
  const path = normalized(given)
  return {
    method,
    host: hostNameOf(host),
    visitorPath: path,
    listsFolders: listsFolders === true,
    path,
    search,
    requestHeaders: new Map(headers),
    headersChanged: false,
    query: undefined,
    queryChanged: false,
    cookieJar: undefined,
    status: undefined,
    stopped: false,
    headers: new Map(),
    importantHeaders: new Map(),
    settled: undefined,
    cookies: [],
    responseTransforms: [] as ResponseTransform[],
    rules: [],
    reusable: true,
    looked: new Map(),
    destinationQuery: [],
    concretePath: undefined,
    invocationPath: undefined,
    rewriteStatus: undefined,
    middlewareRun: [],
    lookups: 0,
    written: 0,
  }
}

function hostNameOf(host: string): string {
  return host.split(':', 1)[0]!.toLowerCase()
}

const ESCAPE = /%[0-9a-f]{2}|%[0-9a-f]?(?:%[0-9a-f]{2})?/gi
const ONE_ESCAPE = '%61'.length
const UNRESERVED = /^[a-z0-9._~-]$/i

/**
 * Normalizes a path, so that rules match what the index finds: no needless escapes, escapes in upper case (RFC 3986 6.2.2). A
 * percent sign that begins no escape stays with the escape after it: `%%361` must not become `%61`.
 */
function normalized(path: string): string {
  return path.replace(ESCAPE, (found) => {
    if (found.length !== ONE_ESCAPE) return found
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16))
    return UNRESERVED.test(character) ? character : found.toUpperCase()
  })
}

type Parts = Pick<Routing, 'host' | 'search' | 'query' | 'cookieJar'> & { requestHeaders: ReadonlyMap<string, string> }

/** Returns a part of the request for rules, and notes that the decision depends on it. */
export function look(routing: Routing, subject: Subject): string | undefined {
  const { type, key } = subject
  const isOfQuery = type === 'query' || type === 'search'
  // What rules have made of it may come from parts that are not noted.
  if (type !== 'host' && (isOfQuery ? routing.queryChanged : routing.headersChanged)) routing.reusable = false
  if (routing.looked.size < MAX_LOOKED) routing.looked.set(`${type} ${key}`, { type, key } as Subject)
  else if (!routing.looked.has(`${type} ${key}`)) routing.reusable = false
  return partIn(routing, subject)
}

/** Returns the parts of a request that decide, as rules see them. */
export function partsOf(
  { host, search, headers }: VisitorRequest,
  subjects: readonly Subject[],
): (string | undefined)[] {
  const parts = { host: hostNameOf(host), search, requestHeaders: headers, query: undefined, cookieJar: undefined }
  return subjects.map((subject) => partIn(parts, subject))
}

function partIn(parts: Parts, { type, key }: Subject): string | undefined {
  switch (type) {
    case 'host':
      return parts.host
    case 'search':
      return parts.search
    case 'header':
      return parts.requestHeaders.get(key)
    case 'cookie':
      return cookiesOf(parts).get(key)
    case 'query':
      return queryOf(parts).findLast(([name]) => name === key)?.[1]
  }
}

/** Returns the decoded parts of the query. */
export function queryOf(routing: Pick<Parts, 'query' | 'search'>): Pair[] {
  routing.query ??= [...new URLSearchParams(routing.search)]
  return routing.query
}

/** Returns the query with its question mark, or empty. It is unchanged unless a rule changed it. */
export function searchOf(routing: Routing): string {
  if (!routing.queryChanged) return routing.search
  const text = new URLSearchParams(queryOf(routing).map(([name, value]) => [name, value])).toString()
  return text === '' ? '' : `?${text}`
}

/** The first cookie of a name counts (RFC 6265 5.4: the more specific path comes first). */
function cookiesOf(parts: Pick<Parts, 'cookieJar' | 'requestHeaders'>): Map<string, string> {
  parts.cookieJar ??= parseCookies(parts.requestHeaders.get('cookie'))
  return parts.cookieJar
}

function parseCookies(header: string | undefined): Map<string, string> {
  const jar = new Map<string, string>()
  for (const [name, value] of cookiePairs(header)) if (!jar.has(name)) jar.set(name, decoded(value))
  return jar
}

/** Decodes percent-encoded text. Returns malformed text unchanged. */
export function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Returns the response headers so far and the common fields of a decision. */
export function routedOf(routing: Routing): Routed {
  const merged = new Map([...routing.headers, ...routing.importantHeaders])
  const headers: Header[] = [...merged].map(([name, value]) => ({ name, value }))
  const { cookies, responseTransforms, rules, reusable, looked } = routing
  return { headers, cookies, responseTransforms, rules, reusable, looked }
}
