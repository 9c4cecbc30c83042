/** Turns a path into a decision: the indexed output with the rules of the phase `hit`, or an error page. */

import type { Prerender } from '../../delivery/protocol/routing-manifest.ts'
import { withoutTrailing } from '../../platform/base/text.ts'
import { IMAGE_PATHS, pictureOf } from '../pictures/picture-request.ts'
import { conditionsHold, type ReadyCondition } from './conditions.ts'
import type { Decision, ErrorCode, Invocation, Routing } from './decision.ts'
import { applyDestination, RoutingError } from './destination.ts'
import type { Entry } from './file-index.ts'
import { look, routedOf, searchOf } from './request.ts'
import { applyHeaders, matchOf } from './rules.ts'
import { readyCondition, type Site } from './site.ts'
import { applyTransform } from './transforms.ts'

/** The most lookups by the rules of one request. Each costs at most one pass over the rewrites and the rules for misses. */
const MAX_LOOKUPS = 16

/** Returns the decision for the current path. Throws `RoutingError` above the lookup limit. */
export function lookUp(site: Site, routing: Routing): Decision | undefined {
  if (site.images !== undefined && IMAGE_PATHS.has(withoutTrailing(routing.path, '/'))) {
    look(routing, { type: 'search', key: '' })
    return { ...routedOf(routing), kind: 'image', picture: pictureOf(site.images, searchOf(routing)) }
  }
  if (++routing.lookups > MAX_LOOKUPS) throw new RoutingError('INFINITE_LOOP_DETECTED')
  const entry = site.files.find(routing.path)
  return entry && decisionOf(site, routing, entry, routing.status ?? routing.rewriteStatus)
}

/** Serves an entry. `status` replaces that of a file (200) or a function. */
function decisionOf(site: Site, routing: Routing, entry: Entry, status: number | undefined): Decision {
  applyHit(site, routing)
  if (entry.kind === 'file') return { ...routedOf(routing), kind: 'file', status: status ?? 200, file: entry.file }
  const invocation = invocationOf(routing, entry.path)
  const answer = status === undefined ? {} : { status }
  const { bundle } = entry
  const { path, prerender } = entry.path
  const bypasses = prerender !== undefined && isBypassed(routing, prerender)
  const routed = routedOf(routing)
  const reusable = routed.reusable && !routing.queryChanged && !routing.headersChanged
  const common = { ...routed, ...answer, reusable, bundle, invocation }
  return prerender === undefined
    ? { ...common, kind: 'function' }
    : { ...common, kind: 'prerender', path, prerender, bypasses }
}

const BYPASSES = new WeakMap<Prerender, ReadyCondition[]>()

/** Any condition is enough. They are patterns of tenants. */
function isBypassed(routing: Routing, prerender: Prerender): boolean {
  const { bypassFor } = prerender
  if (bypassFor === undefined) return false
  const ready = BYPASSES.get(prerender) ?? bypassFor.map(readyCondition)
  BYPASSES.set(prerender, ready)
  return ready.some((condition) => conditionsHold({ has: [condition] }, routing, new Map()))
}

/** Returns the folder list for the requested path, if the project lists folders and no rule has set another status. */
export function listFolder(site: Site, routing: Routing): Decision | undefined {
  const { listsFolders, method, status, visitorPath } = routing
  if (!listsFolders || status !== undefined || (method !== 'GET' && method !== 'HEAD')) return undefined
  const list = site.files.listFolder(visitorPath)
  return list && { ...routedOf(routing), reusable: false, kind: 'folder', ...list }
}

/** Returns the error page of a deployment: from the rules of the phase `error`, else the file of the status (`/404`). The rules see the requested path. */
export function errorPage(site: Site, routing: Routing, status: number, code: ErrorCode): Decision {
  for (const route of site.phases.error) {
    if (route.status !== undefined && route.status !== status) continue
    routing.path = routing.visitorPath
    const captures = matchOf(site, routing, route)
    if (captures === undefined) continue
    routing.rules.push(route.rule)
    applyHeaders(routing, route, captures)
    if (route.dest !== undefined && applyDestination(routing, route.dest, captures) === undefined) {
      const entry = site.files.find(routing.path)
      if (entry !== undefined) return decisionOf(site, routing, entry, status)
    }
    if (!route.continue) break
  }
  const entry = site.files.find(`/${status}`)
  if (entry === undefined) return { ...routedOf(routing), kind: 'error', status, code }
  routing.path = `/${status}`
  return decisionOf(site, routing, entry, status)
}

/** The rules of the phase `hit` set headers that no rule before them has set, but change neither path nor status. */
function applyHit(site: Site, routing: Routing): void {
  const { path } = routing
  const settled = new Set(routing.headers.keys())
  routing.path = withoutTrailing(path, '/') || '/'
  for (const route of site.phases.hit) {
    const captures = matchOf(site, routing, route)
    if (captures === undefined) continue
    routing.rules.push(route.rule)
    applyHeaders(routing, route, captures, settled)
    for (const transform of route.transforms ?? []) applyTransform(routing, transform, captures)
  }
  routing.path = path
}

/** Characters that a request escapes in a path. A percent sign stays: builders may have escaped the name of an output. */
const TO_ESCAPE = /[^\x21-\x7e]+|["#<>?\\^`{|}]/g

/** Returns the path of an output as a request writes it. */
function addressOf(path: string): string {
  return path.toWellFormed().replace(TO_ESCAPE, encodeURIComponent)
}

/** Builds the invocation with the visitor's path, also behind rules and a middleware, unless a transform replaced it. */
function invocationOf(routing: Routing, output: Extract<Entry, { kind: 'function' }>['path']): Invocation {
  const name = output.path === '/index' ? '/' : addressOf(output.path)
  const path = routing.invocationPath ?? routing.visitorPath
  const { prerender } = output
  const ofOutput = prerender?.concrete === true ? name : routing.visitorPath
  const concrete = prerender?.passQuery === true ? routing.visitorPath : (routing.concretePath ?? ofOutput)
  return {
    path,
    search: searchOf(routing),
    ...(routing.headersChanged && { headers: [...routing.requestHeaders] }),
    matchedPath: routing.importantHeaders.get('x-matched-path') ?? name,
    concretePath: routing.invocationPath ?? concrete,
    routeMatches: new URLSearchParams(routing.destinationQuery.map(([key, value]) => [key, value])).toString(),
  }
}
