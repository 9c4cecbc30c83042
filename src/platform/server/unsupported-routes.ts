/** Responses to unsupported methods and paths. */
import { Refusal } from '../refusals/refusal.ts'
import { NEVER_404, sentenceFor, UNSUPPORTED } from './elsewhere.ts'
import { matchesPathExactly } from './strict-paths.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const
type Method = (typeof METHODS)[number]

type RouteKey = { method: Method; url: string }
type NotServed = RouteKey & { allow?: string; refusal(): Refusal }

/**
 * Refuses before the body or token is read: 405 with `Allow` for other methods of a path, with the message of the table if there is one. `routes`:
 * for the router, which would match them to other paths, such as `GET /domains/price` to a domain named "price". `find` resolves the others, because
 * routing them all would take half of the start-up time.
 */
export function unsupportedRoutes(served: readonly RouteKey[]): ReturnType<typeof findNotServed> {
  const table = served.map(({ method, url }) => `${method} ${url}`).join('\n')
  if (latest?.table !== table) latest = { table, found: findNotServed(served) }
  return latest.found
}

/** Cached by table, because a process that opens several services has one table. */
let latest: { table: string; found: ReturnType<typeof findNotServed> } | undefined

function findNotServed(served: readonly RouteKey[]) {
  const answered = served.flatMap(({ method, url }) =>
    answeredBy(method).map((answeredMethod) => ({ method: answeredMethod, url })),
  )
  const isAnswered = isOneOf(answered)
  const urls = [...new Set(served.map(({ url }) => url))]
  const all = [...otherMethods(answered), ...elsewhere(urls)]
  const rivals = rivalsAmong(urls)
  const isShadowed = ({ method, url }: RouteKey) => rivals(url).some((rival) => isAnswered({ method, url: rival }))
  const rest = Map.groupBy(
    all.filter((candidate) => !isShadowed(candidate)),
    ({ method, url }) => kindOf(method, url),
  )
  return {
    routes: all.filter(isShadowed),
    find: (method: string, path: string) =>
      closestTo(path, rest.get(kindOf(method, path)) ?? []) ?? elsewhereAt(method as Method, path),
  }
}

/** Fastify responds to HEAD wherever there is a GET. */
function answeredBy(method: Method): Method[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

function isOneOf(ways: readonly RouteKey[]): (way: RouteKey) => boolean {
  const answered = new Set(ways.map(({ method, url }) => `${method} ${url}`))
  return ({ method, url }) => answered.has(`${method} ${url}`)
}

function otherMethods(answered: readonly RouteKey[]): NotServed[] {
  return [...Map.groupBy(answered, ({ url }) => url)].flatMap(([url, ways]) => {
    const methods = ways.map(({ method }) => method)
    const allow = methods.toSorted((a, b) => Number(a === 'HEAD') - Number(b === 'HEAD')).join(', ')
    return METHODS.filter((method) => !methods.includes(method)).map((method): NotServed => {
      const unknown = `${method} is not a method of this path; it takes ${allow}.`
      const refusal = () => new Refusal('method_unknown', sentenceFor(method, url) ?? unknown, {})
      return { method, url, allow, refusal }
    })
  })
}

/** Rows of the table for a method of paths without routes. */
function elsewhere(urls: readonly string[]): NotServed[] {
  return Object.entries(UNSUPPORTED).flatMap(([path, sentence]) => {
    const [method, url] = path.split(' ') as [Method, string?]
    return url === undefined || urls.includes(url) ? [] : [refusedAt(method, url, sentence)]
  })
}

function elsewhereAt(method: Method, target: string): NotServed | undefined {
  const url = target.split('?', 1)[0]!.replace(/(?<=.)\/$/, '')
  const sentence = sentenceFor(method, url)
  return sentence === undefined ? undefined : refusedAt(method, url, sentence)
}

function refusedAt(method: Method, url: string, sentence: string): NotServed {
  // An empty `Allow` means that the path has no methods (RFC 9110 10.2.1).
  if (NEVER_404.some((pattern) => matchesPathExactly(url, pattern, false)))
    return { method, url, allow: '', refusal: () => new Refusal('method_unknown', sentence, {}) }
  return { method, url, refusal: () => new Refusal('not_found', sentence, {}) }
}

/** Returns the patterns that can match a path of this pattern too. */
function rivalsAmong(urls: readonly string[]): (url: string) => string[] {
  const all = urls.map((url) => ({ url, words: url.split('/') }))
  const matching = new Map<string, string[]>()
  return (url) => {
    const words = url.split('/')
    const rivals =
      matching.get(url) ??
      all
        .filter((candidate) => candidate.url !== url && canMeet(candidate.words, words))
        .map((candidate) => candidate.url)
    matching.set(url, rivals)
    return rivals
  }
}

function canMeet(words: readonly string[], others: readonly string[]): boolean {
  if (words.length !== others.length) return false
  return words.every((word, at) => word === others[at] || isFree(word) || isFree(others[at]!))
}

function isFree(word: string): boolean {
  return word.startsWith(':')
}

/** Index key: method and number of segments. A trailing slash is allowed. */
function kindOf(method: string, target: string): string {
  const path = target.split('?', 1)[0]!
  const slashes = path.split('/').length - 1
  return `${method} ${path.length > 1 && path.endsWith('/') ? slashes - 1 : slashes}`
}

/** Returns the pattern that the router would choose: from the left, fixed segments win. */
function closestTo(path: string, all: readonly NotServed[]): NotServed | undefined {
  const freedom = ({ url }: NotServed) => url.replaceAll(/[^/]+/g, (word) => (isFree(word) ? '1' : '0'))
  const matching = all.filter(({ url }) => matchesPathExactly(path, url, false))
  return matching.sort((a, b) => (freedom(a) < freedom(b) ? -1 : 1))[0]
}
