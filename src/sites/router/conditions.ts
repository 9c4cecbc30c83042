import type { Condition, Match } from '../../delivery/protocol/routing-manifest.ts'
import type { Captures, Routing } from './decision.ts'
import { capturesOf } from './destination.ts'
import type { Matcher } from './pattern.ts'
import { look } from './request.ts'

export type ReadyCondition = Condition & { matcher?: Matcher }

/** Returns whether all of `has` hold and none of `missing` does. Adds captures of `has` to those of the source. */
export function conditionsHold(
  { has = [], missing = [] }: { has?: ReadyCondition[]; missing?: ReadyCondition[] },
  routing: Routing,
  captures: Captures,
): boolean {
  return (
    has.every((condition) => holds(condition, routing, captures)) &&
    !missing.some((condition) => holds(condition, routing, new Map()))
  )
}

function holds(condition: ReadyCondition, routing: Routing, captures: Captures): boolean {
  const value = look(routing, condition)
  if (value === undefined) return false
  const { match, matcher, key } = condition
  if (match === undefined) {
    const name = key.replace(/[^A-Za-z]/g, '')
    if (name !== '') captures.set(name, value)
    return true
  }
  if (!valueMatches(match, value)) return false
  const found = matcher?.exec(value)
  if (found === null) return false
  if (found !== undefined) addCaptures(capturesOf(found), captures)
  if (condition.type === 'host') captures.set('host', value)
  return true
}

/** Numbered captures belong to the source first; named ones are added. */
function addCaptures(found: Captures, captures: Captures): void {
  for (const [name, value] of found) {
    if (!/^[0-9]/.test(name) || !captures.has(name)) captures.set(name, value)
  }
}

/** Returns whether a value meets all comparisons except the pattern. */
export function valueMatches(match: Match, value: string): boolean {
  const { eq, neq, inc, ninc, pre, suf, gt, gte, lt, lte } = match
  return (
    (eq === undefined || String(eq) === value) &&
    (neq === undefined || String(neq) !== value) &&
    (inc === undefined || inc.includes(value)) &&
    (ninc === undefined || !ninc.includes(value)) &&
    (pre === undefined || value.startsWith(pre)) &&
    (suf === undefined || value.endsWith(suf)) &&
    (gt === undefined || Number(value) > gt) &&
    (gte === undefined || Number(value) >= gte) &&
    (lt === undefined || Number(value) < lt) &&
    (lte === undefined || Number(value) <= lte)
  )
}
