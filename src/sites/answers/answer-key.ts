/** Which requests may share an answer of a function, and what names it. Pure. docs/prerendering.md: Answers of functions. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { setNewest } from '../content/newest.ts'
import type { FunctionRequest } from '../functions/functions.ts'
import { withoutSecrets } from '../router/destination.ts'
import { hasBody } from '../visitors/send.ts'

/** `base`: what names the answers, but for headers that they vary by. `path`: of the visitor. `isPlain`: the function may be asked for all. */
export type SharedQuestion = {
  base: string
  path: string
  headers: ReadonlyMap<string, string>
  isPlain: boolean
}

/** TABLE request headers after which an answer is for this visitor alone. A cron job runs its function each time. */
const OF_ONE_VISITOR = ['authorization', 'proxy-authorization', 'x-vercel-cron-schedule', 'x-prerender-revalidate']
/** TABLE request headers that ask for a part, or whether something has changed. A kept answer is planned by them, and none is made of them. */
const OF_A_PART = ['range', 'if-range', 'if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since']
/** TABLE request headers that browsers and proxies send; a dash at the end marks a prefix. A function that uses one says so in `Vary`. */
const OF_BROWSERS = [
  ...['accept', 'accept-', 'baggage', 'cache-control', 'cdn-loop', 'cf-', 'cookie', 'dnt', 'host', 'if-', 'origin'],
  ...['pragma', 'priority', 'range', 'referer', 'save-data', 'sec-', 'traceparent', 'tracestate'],
  ...['upgrade-insecure-requests', 'user-agent', 'via', 'x-forwarded-', 'x-real-ip', 'x-request-id'],
]
/** TABLE request headers that the sites server adds for the function, and a star: an answer that varies by one is of one request. */
const OF_EACH = ['*', 'forwarded', 'x-invocation-id', 'x-vercel-forwarded-for', 'x-vercel-id']
/** Lenient: the function behind may drop any white space around the name. */
const DRAFT = /(?:^|;)\s*__prerender_bypass\s*=/
const MAX_VARY = 16
/** Of the names together: they stay in memory. */
const MAX_VARY_CHARACTERS = 1024

/** Returns the question of a request; undefined where it shares no answer. */
export function sharedQuestionOf({ spec, call }: FunctionRequest, raw: IncomingMessage): SharedQuestion | undefined {
  const { request, invocation, path } = call
  const headers = new Map(invocation.headers ?? request.headers)
  if ((request.method !== 'GET' && request.method !== 'HEAD') || hasBody(raw)) return undefined
  if (OF_ONE_VISITOR.some((name) => headers.has(name) || request.headers.has(name))) return undefined
  if (DRAFT.test(request.headers.get('cookie') ?? '')) return undefined
  if ([request.search, invocation.search].some((search) => withoutSecrets(search) !== search)) return undefined
  const { search, matchedPath, routeMatches } = invocation
  const origin = ['host', 'x-forwarded-host', 'x-forwarded-proto'].map((name) => request.headers.get(name) ?? '')
  const base = nameOf([
    ...[spec.environment, spec.bundle.name, path, search, matchedPath, routeMatches, request.path, origin],
    changedHeaders(request.headers, invocation.headers && headers),
  ])
  const isPlain = request.method === 'GET' && OF_A_PART.every((name) => !headers.has(name))
  return { base: `${spec.deploymentId} ${base}`, path: request.path, headers, isPlain }
}

/**
 * Headers that rules or a middleware have set or removed: the function may use each of them. One that a visitor sent ahead with the value that is set
 * looks unchanged, so where any was set, all that are not of browsers count.
 */
function changedHeaders(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string> = before): unknown[] {
  const isAny = after !== before
  const set = [...after].filter(([name, value]) => before.get(name) !== value || (isAny && !isOfBrowsers(name)))
  const removed = [...before.keys()].filter((name) => !after.has(name))
  return [set.sort(([a], [b]) => (a < b ? -1 : 1)), removed.sort()]
}

function isOfBrowsers(name: string): boolean {
  return OF_BROWSERS.some((row) => (row.endsWith('-') ? name.startsWith(row) : name === row))
}

/** Returns the key of an answer that varies by these headers. */
export function variantOf({ base, headers }: SharedQuestion, names: readonly string[]): string {
  if (names.length === 0) return `${base} `
  return `${base} ${nameOf(names.map((name) => [name, comparedValue(name, headers.get(name))]))}`
}

/** Of encodings, only which are accepted matters. */
function comparedValue(name: string, value: string | undefined): string | null {
  if (name !== 'accept-encoding' || value === undefined) return value ?? null
  const accepted = value.split(',').filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
  return accepted
    .map((part) => part.split(';', 1)[0]!.trim().toLowerCase())
    .sort()
    .join()
}

/** Returns the headers that an answer varies by, sorted; undefined where it is for one request. */
export function varyOf(value: string | string[] | undefined): string[] | undefined {
  const names = [value ?? ''].flat().join(',').toLowerCase().split(',')
  const variants = [...new Set(names.map((name) => name.trim()))].filter((name) => name !== '').sort()
  const isShort = variants.length <= MAX_VARY && variants.join().length <= MAX_VARY_CHARACTERS
  return isShort && !variants.some((name) => OF_EACH.includes(name)) ? variants : undefined
}

/** Returns the headers with which an answer for all is asked. */
export function withoutParts(headers: ReadonlyMap<string, string>): Map<string, string> {
  return new Map([...headers].filter(([name]) => !OF_A_PART.includes(name)))
}

/** Bases whose answers vary: the oldest makes room. */
const MAX_VARYING = 20_000

/** Notes the headers that the answers of a base vary by. */
export function noteVary(vary: Map<string, string[]>, base: string, names: string[]): void {
  if (names.length > 0) setNewest(vary, base, names, MAX_VARYING)
  else vary.delete(base)
}

function nameOf(parts: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}
