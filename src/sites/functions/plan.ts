/** What happens to processes next: a pure function of demand, limits and time. docs/functions.md: Processes. */
import type { ProcessState } from './process-states.ts'

/** `since`: of the state. `usedAt`: the end of its last request. `pending`: promises of `waitUntil`. Times in ms on one clock. */
export type ProcessFacts = {
  id: number
  key: string
  account: string
  state: ProcessState
  inFlight: number
  pending: number
  since: number
  usedAt: number
}

/** `waiting`: requests without a process. `failures`: times at which a process of the function ended badly. */
export type Demand = { key: string; account: string; waiting: number; failures: readonly number[] }

export type ProcessLimits = {
  /** Processes that are awake, and those of one account. */
  processes: number
  ofAccount: number
  startMs: number
  idleMs: number
  /** How long `waitUntil` may go on after the last request. */
  pendingMs: number
  /** How long a draining process has after its last request. */
  drainMs: number
}

export type Action = { do: 'start'; key: string } | { do: 'drain' | 'kill'; id: number }

/** Failures within a minute that delay the next start. */
const FAILURES = 5
const FAILURES_MS = 60_000
const BACKOFF_MS = 30_000

/** Returns whether a function that keeps ending badly is not started now. Pure. */
export function isBackedOff(failures: readonly number[], now: number): boolean {
  const first = failures.at(-FAILURES) ?? Number.NEGATIVE_INFINITY
  const last = failures.at(-1)!
  return last - first < FAILURES_MS && now - last < BACKOFF_MS
}

/** Returns the times of failures that still count. Pure. */
export function recentFailures(failures: readonly number[], now: number): number[] {
  return failures.filter((at) => now - at < FAILURES_MS + BACKOFF_MS).slice(-FAILURES)
}

/**
 * Returns what to do: kill what took too long, drain what is idle, start what requests wait for. Where there is no room the idle process that
 * was used longest ago is drained, and the start follows once it has ended. Pure.
 */
export function planProcesses(
  processes: readonly ProcessFacts[],
  demands: readonly Demand[],
  limits: ProcessLimits,
  now: number,
): Action[] {
  const actions: Action[] = []
  const awake = processes.filter(({ state }) => state !== 'ended')
  const leaving = new Set<number>()
  for (const process of awake) {
    const what = upkeepOf(process, limits, now)
    if (what === undefined) continue
    leaving.add(process.id)
    actions.push({ do: what, id: process.id })
  }
  const room = createRoom(awake, leaving, limits, now)
  const served = new Set(awake.filter(({ state }) => state === 'starting' || state === 'ready').map(({ key }) => key))
  for (const { key, account, waiting, failures } of demands) {
    if (waiting === 0 || served.has(key) || isBackedOff(failures, now)) continue
    if (room.take(account)) actions.push({ do: 'start', key })
    else {
      const id = room.evict(account)
      if (id !== undefined) actions.push({ do: 'drain', id })
    }
  }
  return actions
}

/** What time alone does to a process. */
function upkeepOf(
  { state, inFlight, pending, since, usedAt }: ProcessFacts,
  limits: ProcessLimits,
  now: number,
): 'drain' | 'kill' | undefined {
  const isBusy = hasWork({ inFlight, pending, usedAt }, limits, now)
  if (state === 'starting') return now - since >= limits.startMs ? 'kill' : undefined
  if (state === 'ready') return !isBusy && now - usedAt >= limits.idleMs ? 'drain' : undefined
  if (isBusy) return undefined
  return now - Math.max(since, usedAt) >= limits.drainMs ? 'kill' : undefined
}

/** Requests, or promises of `waitUntil` that may go on. */
function hasWork(
  { inFlight, pending, usedAt }: Pick<ProcessFacts, 'inFlight' | 'pending' | 'usedAt'>,
  { pendingMs }: ProcessLimits,
  now: number,
): boolean {
  return inFlight > 0 || (pending > 0 && now - usedAt < pendingMs)
}

/** Counts places. A draining process has its place until it has ended, which may be long after if it has work. `leaving`: what is drained or killed now. */
function createRoom(awake: readonly ProcessFacts[], leaving: Set<number>, limits: ProcessLimits, now: number) {
  let all = awake.length
  const own = new Map<string, number>()
  for (const { account } of awake) own.set(account, (own.get(account) ?? 0) + 1)
  const countOf = (account: string) => own.get(account) ?? 0
  const isFull = (account: string) => countOf(account) >= limits.ofAccount
  const isIdle = ({ id, state, inFlight, pending }: ProcessFacts) =>
    state === 'ready' && inFlight === 0 && pending === 0 && !leaving.has(id)
  const isGoing = (process: ProcessFacts) =>
    (process.state === 'draining' || leaving.has(process.id)) && !hasWork(process, limits, now)
  return {
    take(account: string): boolean {
      if (all >= limits.processes || isFull(account)) return false
      all++
      own.set(account, countOf(account) + 1)
      return true
    },
    /** Of the account itself where it has its share, else of the account with the most. Undefined where a place is about to be free. */
    evict(account: string): number | undefined {
      const isOwn = isFull(account)
      const evictable = awake.filter((process) => !isOwn || process.account === account)
      if (evictable.some(isGoing)) return undefined
      const idle = evictable.filter(isIdle)
      const [first] = idle.sort((a, b) => countOf(b.account) - countOf(a.account) || a.usedAt - b.usedAt)
      if (first !== undefined) leaving.add(first.id)
      return first?.id
    },
  }
}
