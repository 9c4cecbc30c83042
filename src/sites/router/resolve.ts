/**
 * The router: a pure function from rules, index and request to a decision. Its steps are linear in the number of rules. It runs
 * tenants' patterns, so only workers call it. The order of phases: docs/deploying-sites.md: Router.
 */
import type { Phase } from '../../delivery/protocol/routing-manifest.ts'
import type { Captures, Decision, MiddlewareState, Routing } from './decision.ts'
import { applyDestination, locationOf, RoutingError, substitute, withoutSecrets } from './destination.ts'
import { localeRedirect } from './locale.ts'
import { applyAnswer, forwardedOf, type MiddlewareAnswer } from './middleware.ts'
import { errorPage, listFolder, lookUp } from './outputs.ts'
import { beginRouting, routedOf, type VisitorRequest } from './request.ts'
import { applyHeaders, matchOf } from './rules.ts'
import type { ReadyRoute, Site } from './site.ts'
import { applyTransform } from './transforms.ts'

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

type Step = Decision | 'next' | 'end'

/** Resolves a request to a decision. Never throws: rules that exceed a limit yield a decision of the kind `error`. */
export function resolve(site: Site, request: VisitorRequest): Decision {
  const path = request.path.replace(/\/{2,}/g, '/')
  const routing = beginRouting({ ...request, path })
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  // One path, one address: rules, files and functions see single slashes.
  if (path !== request.path && isRead) return redirect(routing, 308, locationOf('/', routing.path))
  return safely(routing, () => routeFrom(site, routing, 0))
}

/** Resumes after the middleware that `resolve` requested. The state must belong to the same deployment. */
export function resume(site: Site, { routing, at, captures }: MiddlewareState, answer: MiddlewareAnswer): Decision {
  return safely(routing, () => {
    const decision = applyAnswer(routing, answer)
    if (decision !== undefined) return decision
    const route = site.phases.none[at]!
    const step = applyRule(site, routing, 'none', route, captures)
    if (step === 'next') return routeFrom(site, routing, at + 1)
    return step === 'end' ? afterNone(site, routing) : step
  })
}

/** Returns the page for an error of the sites server, such as a function that failed. */
export function resolveError(site: Site, request: VisitorRequest, status: number): Decision {
  const routing = beginRouting(request)
  return safely(routing, () => errorPage(site, routing, status, status === 404 ? 'NOT_FOUND' : 'STATUS'))
}

function safely(routing: Routing, decide: () => Decision): Decision {
  try {
    return decide()
  } catch (error) {
    if (!(error instanceof RoutingError)) throw error
    routing.written = 0
    const status = error.code === 'ROUTER_EXTERNAL_TARGET_ERROR' ? 502 : 508
    return { ...routedOf(routing), kind: 'error', status, code: error.code }
  }
}

function routeFrom(site: Site, routing: Routing, at: number): Decision {
  return walk(site, routing, 'none', at) ?? afterNone(site, routing)
}

function afterNone(site: Site, routing: Routing): Decision {
  const found = isAnswered(routing)
    ? undefined
    : (lookUp(site, routing) ??
      walk(site, routing, 'filesystem') ??
      lookAround(site, routing, 'filesystem') ??
      walk(site, routing, 'resource') ??
      listFolder(site, routing))
  if (found !== undefined) return found
  const status = routing.status ?? 404
  if (isAnswered(routing) && status < 300) return { ...routedOf(routing), kind: 'status', status }
  return errorPage(
    site,
    routing,
    status >= 400 ? status : 404,
    status >= 400 && status !== 404 ? 'STATUS' : 'NOT_FOUND',
  )
}

/** A rule without a destination answers its status, such as 204 to a preflight. */
function isAnswered({ stopped, status = 0 }: Routing): boolean {
  return stopped && (status >= 400 || (status >= 200 && status < 300))
}

/** Applies the rules of a phase. Returns undefined if none decided. */
function walk(site: Site, routing: Routing, phase: Phase, from = 0): Decision | undefined {
  const routes = site.phases[phase]
  for (let at = from; at < routes.length; at++) {
    const route = routes[at]!
    const captures = matchOf(site, routing, route)
    if (captures === undefined) continue
    routing.rules.push(route.rule)
    const step = beforeRule(site, routing, route, captures, at) ?? applyRule(site, routing, phase, route, captures)
    if (step === 'end') return undefined
    if (step !== 'next') return step
  }
  return undefined
}

/** Handles refusals, languages and middleware before the effects of a rule. */
function beforeRule(
  site: Site,
  routing: Routing,
  route: ReadyRoute,
  captures: Captures,
  at: number,
): Decision | undefined {
  // A challenge needs a platform script, which Berth does not have, so it denies access.
  if (route.mitigate !== undefined) return errorPage(site, routing, 403, 'DENIED')
  const elsewhere = route.locale && localeRedirect(routing, route.locale, captures, site.locales)
  if (elsewhere !== undefined) return redirect(routing, 307, elsewhere)
  const name = route.middleware
  if (name === undefined || routing.middlewareRun.includes(name)) return undefined
  routing.middlewareRun.push(name)
  const bundle = site.files.functionOf(name)
  const state = { routing, at, captures }
  return {
    ...routedOf(routing),
    reusable: false,
    kind: 'middleware',
    name,
    bundle,
    request: forwardedOf(routing),
    state,
  }
}

/** Applies a matching rule in the order of the format: override, headers, transforms, destination, status. */
function applyRule(site: Site, routing: Routing, phase: Phase, route: ReadyRoute, captures: Captures): Step {
  const { dest, status } = route
  if (route.override) routing.status = undefined
  applyHeaders(routing, route, captures)
  for (const transform of route.transforms ?? []) applyTransform(routing, transform, captures)
  if (dest !== undefined && isRedirect(status) && locationIn(routing) === undefined)
    return redirect(routing, status, locationOf(dest, substitute(routing, dest, captures)))
  if (dest !== undefined) {
    const before = routing.path
    const url = applyDestination(routing, dest, captures)
    if (url !== undefined) return proxy(routing, url, status)
    if (phase === 'rewrite' && route.check) routing.concretePath = before
    if (status === undefined && routing.stopped) clearStatus(routing)
  }
  const away = redirectOf(routing, route)
  if (away !== undefined) return away
  if (status !== undefined) routing.status = status
  if (route.check) return checkPath(site, routing, phase) ?? 'next'
  if (route.continue) return 'next'
  const found = lookUp(site, routing)
  routing.stopped = found === undefined && status !== undefined && dest === undefined
  return found ?? 'end'
}

function clearStatus(routing: Routing): void {
  routing.status = undefined
  routing.stopped = false
}

function isRedirect(status: number | undefined): status is number {
  return status !== undefined && REDIRECTS.has(status)
}

function locationIn({ headers, importantHeaders }: Routing): string | undefined {
  return headers.get('location') ?? importantHeaders.get('location')
}

/** A rule with a `location` header redirects: with its status, or with 307 without status and destination. */
function redirectOf(routing: Routing, { status, dest, headers = [] }: ReadyRoute): Decision | undefined {
  const location = locationIn(routing)
  if (location === undefined) return undefined
  const alone = status === undefined && dest === undefined && headers.some(({ name }) => name === 'location')
  if (!alone && !isRedirect(status)) return undefined
  routing.headers.delete('location')
  routing.importantHeaders.delete('location')
  return redirect(routing, status ?? 307, location)
}

/** Passes the visitor's query on unless the rule wrote one. Protection secrets stay on this host. */
function redirect(routing: Routing, status: number, target: string): Decision {
  const location = withSearch(target, staysHere(target) ? routing.search : withoutSecrets(routing.search))
  const refresh = status === 308 ? [{ name: 'refresh', value: `0;url=${location}` }] : []
  const routed = routedOf(routing)
  const headers = [...routed.headers, ...refresh]
  return { ...routed, headers, reusable: false, kind: 'redirect', status, location }
}

/** The query comes before the fragment, whose question marks begin none (RFC 3986 3.4, 3.5). */
function withSearch(target: string, search: string): string {
  const hash = target.indexOf('#')
  const [before, fragment] = hash < 0 ? [target, ''] : [target.slice(0, hash), target.slice(hash)]
  return before.includes('?') ? target : before + search + fragment
}

function staysHere(location: string): boolean {
  return location.startsWith('/') && URL.parse(location, 'http://here.invalid')?.host === 'here.invalid'
}

function proxy(routing: Routing, url: string, status: number | undefined): Decision {
  if (URL.parse(url) === null) throw new RoutingError('ROUTER_EXTERNAL_TARGET_ERROR')
  const request = forwardedOf(routing)
  const answer = status === undefined ? {} : { status }
  return { ...routedOf(routing), reusable: false, kind: 'proxy', url, ...answer, request }
}

/** Implements `check`. Rewrites only look up the new path; other phases also try the rewrites and the rules for misses. */
function checkPath(site: Site, routing: Routing, phase: Phase): Decision | undefined {
  if (phase !== 'rewrite') return lookAround(site, routing, phase)
  const found = lookUp(site, routing)
  if (found === undefined) routing.concretePath = undefined
  return found
}

/** Tries the path, the rewrites and the rules for misses. Path and status of the latter count only if they find an output. */
function lookAround(site: Site, routing: Routing, phase: Phase): Decision | undefined {
  const found = lookUp(site, routing) ?? walk(site, routing, 'rewrite')
  if (found !== undefined || phase === 'miss') return found
  const { path, status, stopped } = routing
  routing.settled = new Set(routing.headers.keys())
  const late = walk(site, routing, 'miss')
  routing.settled = undefined
  if (late === undefined) Object.assign(routing, { path, status, stopped })
  return late
}
