/** The routing state of a visitor's request. docs/deploying-sites.md: Router. */
import type { Header } from '../../delivery/protocol/routing-manifest.ts'
import type { Pair, ResponseTransform, Routed, Routing } from './decision.ts'

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
    host: host.split(':', 1)[0]!.toLowerCase(),
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
    destinationQuery: [],
    concretePath: undefined,
    invocationPath: undefined,
    rewriteStatus: undefined,
    middlewareRun: [],
    lookups: 0,
    written: 0,
  }
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

/** Returns the decoded parts of the query. */
export function queryOf(routing: Routing): Pair[] {
  routing.query ??= [...new URLSearchParams(routing.search)]
  return routing.query
}

/** Returns the query with its question mark, or empty. It is unchanged unless a rule changed it. */
export function searchOf(routing: Routing): string {
  if (!routing.queryChanged) return routing.search
  const text = new URLSearchParams(queryOf(routing).map(([name, value]) => [name, value])).toString()
  return text === '' ? '' : `?${text}`
}

/** Returns the cookies by name. The first of a name counts (RFC 6265 5.4: the more specific path comes first). */
export function cookiesOf(routing: Routing): Map<string, string> {
  routing.cookieJar ??= parseCookies(routing.requestHeaders.get('cookie') ?? '')
  return routing.cookieJar
}

function parseCookies(header: string): Map<string, string> {
  const jar = new Map<string, string>()
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    const name = part.slice(0, equals).trim()
    if (equals > 0 && name !== '' && !jar.has(name)) jar.set(name, decoded(part.slice(equals + 1).trim()))
  }
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
  const { cookies, responseTransforms, rules, reusable } = routing
  return { headers, cookies, responseTransforms, rules, reusable }
}
