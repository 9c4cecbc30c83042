/**
 * The ledger: what the service acknowledged, project by project, and what it may or may not have done because no answer came.
 * A store is held against it after a fault: each project must be whole, as it was after its last acknowledged write, or
 * complete as after the one write that was in flight.
 */
import type { Found } from './fault.ts'
import type { StoredProject } from './store.ts'

/** A project as the ledger sees it; undefined: it does not exist. */
export type State = { build: string; paused: boolean; env: Record<string, string>; domains: string[] } | undefined

export type Entry = {
  name: string
  /** All that it ever was, the first being "not there"; the last is acknowledged. */
  states: State[]
  /** What a write that was not answered would have made of it. */
  doubt?: { state: State } | undefined
  /** The ids of its variables, by key. */
  envIds: Map<string, string>
}

export type Ledger = {
  entries: Map<string, Entry>
  acknowledged: number
  /** Tokens that a code was exchanged for. */
  tokens: string[]
}

export function openLedger(): Ledger {
  return { entries: new Map(), acknowledged: 0, tokens: [] }
}

export function lastOf(entry: Entry): State {
  return entry.states.at(-1)
}

/** One text for one state. */
export function textOf(state: State): string {
  if (state === undefined) return 'not there'
  const env = Object.entries(state.env).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([state.build, state.paused, env, state.domains.toSorted()])
}

/** Compares the store with the ledger, counts lost and partial writes, and records the outcome of unconfirmed ones. */
export function compare(ledger: Ledger, stored: Map<string, StoredProject>, found: Found, when: string): void {
  for (const entry of ledger.entries.values()) {
    const there = stored.get(entry.name)
    const text = textOf(there?.state)
    const isLast = text === textOf(lastOf(entry))
    const isDoubted = entry.doubt !== undefined && text === textOf(entry.doubt.state)
    if (!isLast && !isDoubted) {
      const before = entry.states.slice(0, -1).some((state) => textOf(state) === text)
      found[before ? 'lost' : 'halfDone']++
      const wanted = [lastOf(entry), ...(entry.doubt ? [entry.doubt.state] : [])].map(textOf).join(' or ')
      found.broken.push(`${when}: ${entry.name} is ${text}, and should be ${wanted}`)
    }
    entry.states = [...(isDoubted || isLast ? [] : [undefined]), there?.state]
    entry.doubt = undefined
    if (there === undefined) ledger.entries.delete(entry.name)
    else entry.envIds = there.envIds
  }
  for (const name of stored.keys()) {
    if (ledger.entries.has(name)) continue
    found.halfDone++
    found.broken.push(`${when}: ${name} is there, and should not be`)
  }
}
