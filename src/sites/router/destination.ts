import type { Captures, Pair, Routing } from './decision.ts'
import { decoded, queryOf } from './request.ts'

/** The most characters that the rules of one request may write: paths, headers and queries with captures. */
const MAX_WRITTEN = 256 * 1024
const MAX_PATH = 16 * 1024
/** The most characters of a query that rules make. Each name and value counts one more. The main thread of the sites server reads it. */
const MAX_QUERY = 32 * 1024

/** The rules of a deployment exceed a limit. */
export class RoutingError extends Error {
  readonly code: 'INFINITE_LOOP_DETECTED' | 'ROUTING_TOO_LARGE' | 'ROUTER_EXTERNAL_TARGET_ERROR'

  constructor(code: RoutingError['code']) {
    super(code)
    this.code = code
  }
}

/** Returns the groups of a match by number and name. Group 0 is the full match. */
export function capturesOf(match: RegExpExecArray): Captures {
  const captures: Captures = new Map()
  for (const [at, text] of match.entries()) captures.set(String(at), text ?? '')
  for (const [name, text] of Object.entries(match.groups ?? {})) captures.set(name, text ?? '')
  return captures
}

const PLACEHOLDER = /\$(?:([0-9]+|[A-Za-z_][A-Za-z0-9_]*)|\{([^{}]+)\})/g

/** Inserts captures once; they cannot contain placeholders. Unknown names become empty. Throws `RoutingError` above the write limit. */
export function substitute(routing: Routing, template: string, captures: Captures): string {
  if (!template.includes('$')) return charge(routing, template)
  let text = ''
  let end = 0
  for (const found of template.matchAll(PLACEHOLDER)) {
    text += template.slice(end, found.index)
    text += found[1] === undefined ? (captures.get(found[2]!) ?? '') : captureNamed(found[1], captures)
    end = found.index + found[0].length
    if (text.length > MAX_WRITTEN) throw new RoutingError('ROUTING_TOO_LARGE')
  }
  return charge(routing, text + template.slice(end))
}

function charge(routing: Routing, text: string): string {
  routing.written += text.length
  if (routing.written > MAX_WRITTEN) throw new RoutingError('ROUTING_TOO_LARGE')
  return text
}

/** `$1x` and `$localeSuffix` refer to the longest capture name that they begin with; the rest is text. */
function captureNamed(name: string, captures: Captures): string {
  for (let length = Math.min(name.length, MAX_NAME); length > 0; length--) {
    const value = captures.get(name.slice(0, length))
    if (value !== undefined) return value + name.slice(length)
  }
  return ''
}

/** Longer group names are ignored, which bounds the cost of a lookup. */
const MAX_NAME = 256

/** Applies the destination of a rule. Returns the URL of another origin, or undefined if it replaced path and query of the request. */
export function applyDestination(routing: Routing, dest: string, captures: Captures): string | undefined {
  const target = substitute(routing, dest, captures)
  if (/^https?:\/\//i.test(target)) return target
  const question = target.indexOf('?')
  if (question >= 0) overrideQuery(routing, [...new URLSearchParams(target.slice(question + 1))])
  const path = `/${question >= 0 ? target.slice(0, question) : target}`.replace(/\/{2,}/g, '/')
  if (path.length > MAX_PATH) throw new RoutingError('ROUTING_TOO_LARGE')
  routing.path = path
  return undefined
}

/** Replaces the query. Throws `RoutingError` above the limit of a query. */
export function setQuery(routing: Routing, query: Pair[]): void {
  let length = 0
  for (const [name, value] of query) length += name.length + value.length + 2
  if (length > MAX_QUERY) {
    // A shorter query of another visitor is not too long.
    routing.reusable = false
    throw new RoutingError('ROUTING_TOO_LARGE')
  }
  routing.query = query
  routing.queryChanged = true
}

/** The query of a destination belongs to the function and replaces the visitor's values of the same names. */
function overrideQuery(routing: Routing, pairs: Pair[]): void {
  const names = new Set(pairs.map(([name]) => name))
  setQuery(routing, [...queryOf(routing).filter(([name]) => !names.has(name)), ...pairs])
  routing.destinationQuery = pairs
}

/** Returns a single-line header value. Captures of queries and cookies are decoded, so they may contain line breaks. */
export function headerValue(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/gu, (character) =>
    character.isWellFormed() ? encodeURIComponent(character) : '',
  )
}

/**
 * Returns the target of a redirect. A template that begins with one slash stays on its host: otherwise `/$1` with the capture
 * `/other.example` would leave it. Browsers read a backslash as a slash, and ignore tabs and line ends.
 */
export function locationOf(template: string, location: string): string {
  const staysHere = template.startsWith('/') && !/^\/[/\\]/.test(template)
  const plain = location.replace(/[\t\r\n]/g, '')
  return staysHere ? plain.replace(/^[/\\]+/, '/') : plain
}

/** TABLE query parameters that open a protected site. Berth sends them to no other server. */
const OF_PROTECTION = ['x-vercel-protection-bypass', 'x-vercel-set-bypass-cookie']
const MIN_LENGTH = Math.min(...OF_PROTECTION.map((name) => name.length))

/** Removes protection secrets from a query, however they are encoded. The rest stays byte for byte. */
export function withoutSecrets(search: string): string {
  const remaining = search
    .slice(1)
    .split('&')
    .filter((part) => !isOfProtection(part.split('=', 1)[0]!))
  return remaining.length === 0 ? '' : search.slice(0, 1) + remaining.join('&')
}

function isOfProtection(name: string): boolean {
  // Decoding never makes a name longer. Parsers ignore a question mark before the first name.
  return name.length >= MIN_LENGTH && OF_PROTECTION.includes(decoded(name).replace(/^\?/, ''))
}
