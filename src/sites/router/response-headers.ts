/** The headers of a response: its own, those of the rules, and their transforms. Runs on the thread that answers visitors, so it is bounded. */
import { MESSAGE_HEADERS, mayChange } from '../../delivery/protocol/message-headers.ts'
import type { Header, Match } from '../../delivery/protocol/routing-manifest.ts'
import { valueMatches } from './conditions.ts'
import type { ResponseTransform, Routed } from './decision.ts'
import { RoutingFault } from './destination.ts'
import { fullNameOf } from './transforms.ts'

/** How often the transforms of one response may look at a name, and how many characters they may write. */
const MAX_COMPARISONS = 20_000
const MAX_WRITTEN = 256 * 1024

type Budget = { comparisons: number; characters: number }

/**
 * Puts the headers of the rules over those that a file or a function has, then applies the transforms. None of them changes what frames the message.
 * Throws `RoutingFault` where the transforms cost too much.
 */
export function responseHeaders(
  { headers, responseTransforms }: Pick<Routed, 'headers' | 'responseTransforms'>,
  own: readonly Header[],
): Header[] {
  const merged = new Map([...own, ...headers].map(({ name, value }) => [name, value]))
  const budget = { comparisons: MAX_COMPARISONS, characters: MAX_WRITTEN }
  for (const transform of responseTransforms) {
    const full = fullNameOf(transform.match)
    if (full === undefined) changeMatching(merged, transform, budget)
    else if (mayChange(full.toLowerCase())) change(merged, full.toLowerCase(), transform, budget)
  }
  return [...merged].map(([name, value]) => ({ name, value }))
}

function changeMatching(merged: Map<string, string>, transform: ResponseTransform, budget: Budget): void {
  const { inc, ninc, ...others } = transform.match
  spend(budget, 'comparisons', merged.size * weightOf(others) + (inc?.length ?? 0) + (ninc?.length ?? 0))
  const [among, outside] = [inc && new Set(inc), ninc && new Set(ninc)]
  // A map may be changed while its keys are listed: no key is added here.
  for (const name of merged.keys()) {
    const matches = among?.has(name) !== false && outside?.has(name) !== true && valueMatches(others as Match, name)
    if (matches) change(merged, name, transform, budget)
  }
}

/** A name as a number costs as much as twenty other comparisons, since names may have 256 digits, and 16 characters of a prefix as much as one. */
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
  if (budget[what] < 0) throw new RoutingFault('ROUTING_TOO_LARGE')
}
