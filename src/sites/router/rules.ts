import { conditionsHold } from './conditions.ts'
import type { Captures, Routing } from './decision.ts'
import { capturesOf, headerValue, locationOf, RoutingError, substitute } from './destination.ts'
import { look } from './request.ts'
import type { ReadyRoute, Site } from './site.ts'

/** Returns the captures of a rule, or undefined if it does not match. */
export function matchOf(site: Site, routing: Routing, route: ReadyRoute): Captures | undefined {
  if (route.methods !== undefined && !route.methods.includes(routing.method)) return undefined
  const match = route.matcher.exec(routing.path)
  if (match === null) return undefined
  const captures = capturesOf(match)
  if (!conditionsHold(route, routing, captures)) return undefined
  if (site.wildcards.size > 0)
    captures.set('wildcard', site.wildcards.get(look(routing, { type: 'host', key: '' })!) ?? '')
  return captures
}

const MAX_HEADERS = 1000

/**
 * Sets the headers of a rule. With `important`, the first value stays. `settled`: names that only such a rule changes, because rules of earlier phases
 * have set them. Throws `RoutingError` above the limit.
 */
export function applyHeaders(
  routing: Routing,
  route: ReadyRoute,
  captures: Captures,
  settled: ReadonlySet<string> | undefined = routing.settled,
): void {
  for (const { name, value } of route.headers ?? []) {
    const text = headerValue(substitute(routing, value, captures))
    const location = name === 'location' ? locationOf(value, text) : text
    if (!route.important && settled?.has(name)) continue
    if (!route.important) routing.headers.set(name, location)
    else if (!routing.importantHeaders.has(name)) routing.importantHeaders.set(name, location)
  }
  if (routing.headers.size + routing.importantHeaders.size > MAX_HEADERS) throw new RoutingError('ROUTING_TOO_LARGE')
}
