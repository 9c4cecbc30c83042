/**
 * How many requests of one account run at once, and of those that make the greatest answers how many of all. The others wait in a
 * line in which accounts take turns. docs/limits.md.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { iterationMs, settled } from '../event-loop.ts'
import { type FairLine, openFairLine } from '../fair-line.ts'
import { Refusal } from '../refusal.ts'

/** After so long in one turn of the event loop those that are left wait for the next: what came meanwhile is read first. */
const LONGEST_TURN_MS = 5
const MOST_WAITING = 256
const LONGEST_WAIT_MS = 10_000

export type Gate = {
  /** Lets a request of `owner` in, at once (undefined) or when it is its turn. Refuses: rate_limited 429, when too many wait, or it waited too long. */
  enter(owner: string): Promise<void> | undefined
  /** It does not run any more. */
  leave(owner: string): void
  /** What `may` says may have changed. */
  look(): void
}

type Rules = {
  mostOfOne: number
  mostOfAll?: number
  /** Whether an owner may go on at all now. */
  may?: (owner: string) => boolean
}

/** Nobody is in yet. */
export function openGate(rules: Rules): Gate {
  const line = openFairLine<() => void>()
  const inside = openCount(rules)
  let letsIn = false

  const letIn = async () => {
    letsIn = true
    for (;;) {
      await nextTurn()
      const began = performance.now()
      do {
        const next = line.shift(inside.fits)
        if (next === undefined) {
          letsIn = false
          return
        }
        next()
        await settled()
      } while (performance.now() - began < LONGEST_TURN_MS)
    }
  }
  const look = () => {
    if (!letsIn && line.size() > 0) void letIn()
  }
  return {
    look,
    enter(owner) {
      const waiting = line.sizeOf(owner)
      if (waiting === 0 && inside.fits(owner) && iterationMs() < LONGEST_TURN_MS) return inside.add(owner, 1)
      if (waiting >= MOST_WAITING) throw tooMany()
      const turn = waitInLine(line, owner).then(() => inside.add(owner, 1))
      look()
      return turn
    },
    leave(owner) {
      inside.add(owner, -1)
      look()
    },
  }
}

/** Resolves when it is their turn. Refuses: rate_limited 429, when that takes too long. */
function waitInLine(line: FairLine<() => void>, owner: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      clearTimeout(patience)
      resolve()
    }
    const patience = setTimeout(() => {
      line.remove(owner, go)
      reject(tooMany())
    }, LONGEST_WAIT_MS)
    line.push(owner, go)
  })
}

/** How many are in, of each and of all, and whether one more may be. */
function openCount({ mostOfOne, mostOfAll = Number.POSITIVE_INFINITY, may = () => true }: Rules) {
  const inside = new Map<string, number>()
  let all = 0
  const of = (owner: string) => inside.get(owner) ?? 0
  return {
    fits: (owner: string) => all < mostOfAll && of(owner) < mostOfOne && may(owner),
    add(owner: string, change: 1 | -1): undefined {
      all += change
      const count = of(owner) + change
      if (count === 0) inside.delete(owner)
      else inside.set(owner, count)
    },
  }
}

function tooMany(): Refusal {
  const message = 'Too many requests of this account at once - try again in 1 second.'
  return new Refusal('rate_limited', message, { name: 'in-flight' }, { 'retry-after': '1' })
}

/** The gates of a service: for every request, and before it for those that make the greatest answers. */
export type Gates = { all: Gate; lists: Gate }

/** `hasRoom`: whether an account may make another list, seen from what of its answers has not left. */
export function openGates(engine: 'sqlite' | 'postgres', hasRoom: (owner: string) => boolean): Gates {
  // The embedded store is read in this process: two lists of one account at once would only take turns.
  if (engine === 'sqlite')
    return { all: openGate({ mostOfOne: 64 }), lists: openGate({ mostOfOne: 1, mostOfAll: 2, may: hasRoom }) }
  // PostgreSQL has 20 connections: one account never takes them all.
  return { all: openGate({ mostOfOne: 16 }), lists: openGate({ mostOfOne: 3, mostOfAll: 6, may: hasRoom }) }
}
