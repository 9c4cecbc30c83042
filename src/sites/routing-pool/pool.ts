/**
 * Runs the router in worker threads, so that tenants' patterns never block the event loop. Each worker handles one question at a
 * time, accounts round-robin. A worker is terminated if a question takes too long. docs/deploying-sites.md: Patterns.
 */
import type { Worker } from 'node:worker_threads'
import { createPathQueue, type PathQueue } from '../../platform/fairness/fair-queue.ts'
import type { Decision, ErrorCode } from '../router/decision.ts'
import { createDecisionCache, type DecisionCache } from './decision-cache.ts'
import { createProcessorBudget, type ProcessorBudget } from './processor-budget.ts'
import { openThread, type RoutingThread, type Task } from './thread.ts'

/** A question of an account about a site, for a visitor of this network. `site` names its manifest (its digest). `manifest` is that manifest as JSON. */
type RoutingJob = Task & { account: string; network: string }

export type RoutingPool = {
  /** Resolves a decision. Slow rules yield a decision of the kind `error` with status 508. Throws on a bug in the router. */
  ask(job: RoutingJob): Promise<Decision>
  ended(): number
  close(): Promise<void>
}

/** Questions of one account that wait. Of those no network has more than others may still have: a visitor alone has half. */
const MAX_WAITING = 200
/** Loading counts a quarter against the budget: two workers may load the largest site at once, and loads do not repeat. */
const LOADS_COUNT = 4
/** The charge for a terminated question: 50 ms, plus 400 to 600 ms (measured) for another worker. Exceeds the allowed debt. */
const ENDED_MICROS = 600_000
/** Extra threads, so that no question waits for a worker to start after one was terminated. */
const SPARE = 1

type Pending = RoutingJob & { resolve(decision: Decision): void; reject(error: Error): void }
type State = {
  spawn: () => Worker
  waiting: PathQueue<Pending>
  cache: DecisionCache
  budget: ProcessorBudget
  threads: Map<RoutingThread, Pending | undefined>
  /** Threads that may work at once. */
  size: number
  ended: number
}

/** Opens a pool and starts its workers. `spawn` starts a thread that calls `serveRouting`. `size`: concurrent questions. */
export function openRoutingPool({
  spawn,
  now = Date.now,
  size = 2,
}: {
  spawn: () => Worker
  now?: () => number
  size?: number
}): RoutingPool {
  const state: State = {
    spawn,
    waiting: createPathQueue(2),
    cache: createDecisionCache(),
    budget: createProcessorBudget(now),
    threads: new Map(),
    size,
    ended: 0,
  }
  for (let at = 0; at < size + SPARE; at++) start(state)
  return {
    ask: (job) => ask(state, job),
    ended: () => state.ended,
    close: () => close(state),
  }
}

function ask(state: State, job: RoutingJob): Promise<Decision> {
  const { waiting, budget, cache } = state
  const cached = job.question.kind === 'resolve' ? cache.get(job.site, job.question.request) : undefined
  if (cached !== undefined) return Promise.resolve(cached)
  if (budget.isSpent(job.account)) return Promise.resolve(overload(508, 'ROUTING_BUDGET_SPENT'))
  const owner = [job.account, job.network]
  const left = MAX_WAITING - waiting.sizeOf([job.account])
  if (waiting.sizeOf(owner) >= left) return Promise.resolve(overload(503, 'ROUTING_BUSY'))
  return new Promise((resolve, reject) => {
    waiting.push(owner, { ...job, resolve, reject })
    next(state)
  })
}

function start(state: State): void {
  const { threads, budget, cache } = state
  const thread: RoutingThread = openThread(state.spawn(), {
    loaded: (micros) => budget.charge(threads.get(thread)!.account, micros / LOADS_COUNT),
    answered(answer) {
      const pending = threads.get(thread)!
      threads.set(thread, undefined)
      budget.charge(pending.account, answer.micros)
      const { site, question } = pending
      if ('decision' in answer && question.kind === 'resolve') cache.set(site, question.request, answer.decision)
      if ('decision' in answer) pending.resolve(answer.decision)
      else pending.reject(new Error(`the router failed for ${pending.site}: ${answer.failure}`))
      next(state)
    },
    ended: () => replace(state, thread),
  })
  threads.set(thread, undefined)
}

function replace(state: State, thread: RoutingThread): void {
  if (!state.threads.has(thread)) return
  const pending = state.threads.get(thread)
  state.threads.delete(thread)
  void thread.terminate()
  if (pending !== undefined) {
    state.ended++
    state.budget.charge(pending.account, ENDED_MICROS)
    pending.resolve(overload(508, 'ROUTING_TIMEOUT'))
  }
  start(state)
  next(state)
}

/** Assigns work to idle threads, oldest first: the newest is the spare one and may still be starting. */
function next({ threads, size, waiting, budget }: State): void {
  let busy = [...threads.keys()].filter((thread) => thread.isBusy()).length
  for (const thread of threads.keys()) {
    while (busy < size && !thread.isBusy()) {
      const pending = waiting.shift()
      if (pending === undefined) return
      if (budget.isSpent(pending.account)) pending.resolve(overload(508, 'ROUTING_BUDGET_SPENT'))
      else {
        busy++
        threads.set(thread, pending)
        thread.begin(pending)
      }
    }
  }
}

async function close({ threads, waiting }: State): Promise<void> {
  const open = [...threads]
  threads.clear()
  const left = open.flatMap(([, pending]) => pending ?? [])
  for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) left.push(job)
  for (const { resolve } of left) resolve(overload(503, 'ROUTING_BUSY'))
  await Promise.all(open.map(([thread]) => thread.terminate()))
}

function overload(status: number, code: ErrorCode): Decision {
  const routed = { headers: [], cookies: [], responseTransforms: [], rules: [], reusable: false, looked: new Map() }
  return { ...routed, kind: 'error', status, code }
}
