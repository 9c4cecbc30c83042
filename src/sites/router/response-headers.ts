/** Merges headers of the response and the rules, and applies transforms. It runs on the main thread, so its cost is bounded. */
import { canChange, MESSAGE_HEADERS } from '../../delivery/protocol/message-headers.ts'
import type { Header, Match } from '../../delivery/protocol/routing-manifest.ts'
import { valueMatches } from './conditions.ts'
import type { ResponseTransform, Routed } from './decision.ts'
import { RoutingError } from './destination.ts'
import { fullNameOf } from './transforms.ts'

/** The most name comparisons and written characters by the transforms of one response. */
const MAX_COMPARISONS = 20_000
const MAX_WRITTEN = 256 * 1024

type Budget = { comparisons: number; characters: number }

/** Merges rule headers over those of a file or function and applies transforms, except to framing headers. Throws `RoutingError`. */
export function responseHeaders(
  { headers, responseTransforms }: Pick<Routed, 'headers' | 'responseTransforms'>,
  own: readonly Header[],
): Header[] {
  const merged = new Map([...own, ...headers].map(({ name, value }) => [name, value]))
  const budget = { comparisons: MAX_COMPARISONS, characters: MAX_WRITTEN }
  for (const transform of responseTransforms) {
    const full = fullNameOf(transform.match)
    if (full === undefined) changeMatching(merged, transform, budget)
    else if (canChange(full.toLowerCase())) change(merged, full.toLowerCase(), transform, budget)
  }
  return [...merged].map(([name, value]) => ({ name, value }))
}

function changeMatching(merged: Map<string, string>, transform: ResponseTransform, budget: Budget): void {
  const { inc, ninc, ...others } = transform.match
  spend(budget, 'comparisons', merged.size * weightOf(others) + (inc?.length ?? 0) + (ninc?.length ?? 0))
  const [among, outside] = [inc && new Set(inc), ninc && new Set(ninc)]
  // Safe during iteration, since no key is added.
  for (const name of merged.keys()) {
    const matches = among?.has(name) !== false && outside?.has(name) !== true && valueMatches(others as Match, name)
    if (matches) change(merged, name, transform, budget)
  }
}

/** A numeric comparison costs as much as twenty others, since names may have 256 digits. 16 prefix characters cost as much as one. */
const NUMBER_WEIGHT = 20
const CHARACTERS_OF_ONE = 16

function weightOf({ gt, gte, lt, lte, pre = '', suf = '' }: Match): number {
  const numbers = [gt, gte, lt, lte].filter((bound) => bound !== undefined).length
  return 1 + NUMBER_WEIGHT * numbers + Math.floor((pre.length + suf.length) / CHARACTERS_OF_ONE)
}

function change(merged: Map<string, string>, name: string, { op, value }: ResponseTransform, budget: Budget): void {
  spend(budget, 'comparisons', 1)
  if (MESSAGE_HEADERS.has(name)) return
  if (op === 'delete') return void merged.delete(name)
  spend(budget, 'characters', value.length)
  const before = merged.get(name)
  merged.set(name, op === 'append' && before !== undefined ? `${before}, ${value}` : value)
}

function spend(budget: Budget, what: keyof Budget, amount: number): void {
  budget[what] -= amount
  if (budget[what] < 0) throw new RoutingError('ROUTING_TOO_LARGE')
}
