import { canChange } from '../../delivery/protocol/message-headers.ts'
import type { Match, Transform } from '../../delivery/protocol/routing-manifest.ts'
import { valueMatches } from './conditions.ts'
import type { Captures, Routing } from './decision.ts'
import { headerValue, RoutingError, setQuery, substitute } from './destination.ts'
import { queryOf } from './request.ts'

/** The most characters of response transforms in a decision, since the main thread reads them. */
const MAX_NOTED = 128 * 1024
/** The cost of an object or a text in addition to its characters. */
const PART_WEIGHT = 16

/** Applies one transform. A response transform is recorded, since it also applies to headers that the router does not see. */
export function applyTransform(routing: Routing, transform: Transform, captures: Captures): void {
  const { op, match } = transform
  const args = transform.args.map((arg) => substitute(routing, arg, captures))
  switch (transform.target) {
    case 'request.path':
      routing.invocationPath = args[0] ?? routing.path
      return
    case 'request.query':
      transformQuery(routing, transform, args)
      return
    case 'request.headers':
      transformHeaders(routing, transform, args.map(headerValue).join(', '))
      return
    case 'response.headers':
      noteWeight(routing, match)
      routing.responseTransforms.push({ op, match, value: args.map(headerValue).join(', ') })
      return
  }
}

function noteWeight(routing: Routing, match: Match): void {
  const texts = Object.values(match).flat()
  const weight = texts.reduce<number>((sum, text) => sum + PART_WEIGHT + String(text).length, 2 * PART_WEIGHT)
  routing.noted = (routing.noted ?? 0) + weight
  if (routing.noted > MAX_NOTED) throw new RoutingError('ROUTING_TOO_LARGE')
}

function transformQuery(routing: Routing, { op, match }: Transform, args: string[]): void {
  const query = queryOf(routing)
  const names = namesOf(
    match,
    query.map(([name]) => name),
  )
  const remaining = op === 'append' ? query : query.filter(([name]) => !names.has(name))
  const added = op === 'delete' ? [] : [...names].flatMap((name) => args.map((arg) => [name, arg] as const))
  setQuery(routing, [...remaining, ...added])
}

function transformHeaders(routing: Routing, { op, match }: Transform, value: string): void {
  const headers = routing.requestHeaders
  for (const name of namesOf(match, [...headers.keys()])) {
    if (!canChange(name)) continue
    const before = headers.get(name)
    if (op === 'delete') headers.delete(name)
    else headers.set(name, op === 'append' && before !== undefined ? `${before}, ${value}` : value)
  }
  routing.headersChanged = true
}

/** The exact name of a transform, or the present names that match. */
function namesOf(match: Match, present: string[]): Set<string> {
  const full = fullNameOf(match)
  if (full !== undefined) return new Set([full])
  return new Set(present.filter((name) => valueMatches(match, name)))
}

/** Returns the exact name of a transform. Other transforms only select from present names. */
export function fullNameOf({ eq, ...others }: Match): string | undefined {
  return eq !== undefined && Object.keys(others).length === 0 ? String(eq) : undefined
}
