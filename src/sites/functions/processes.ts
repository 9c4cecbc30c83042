/** Executes the plan of processes, and gives requests a process. docs/functions.md: Processes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { LauncherMessage } from '../../launcher/protocol.ts'
import type { Exit } from '../../sandbox/sandbox.ts'
import type { Connections } from './connections.ts'
import { FunctionFailure } from './faults.ts'
import type { StartedProcess } from './function-process.ts'
import type { FunctionSpec } from './function-spec.ts'
import { type Demand, isBackedOff, type ProcessLimits, planProcesses, recentFailures } from './plan.ts'
import { nextState, type ProcessEvent, type ProcessState } from './process-states.ts'

/** A request has the process until it releases it. `end`: no further request gets this process. `hasEnded`: whether it ends within this time. */
export type Lease = { connections: Connections; release(): void; end(): void; hasEnded(ms: number): Promise<boolean> }

export type Processes = {
  /** Gives a process, once it is ready. Throws FunctionFailure. `gone`: the visitor left. */
  acquire(spec: FunctionSpec, gone: AbortSignal): Promise<Lease>
  /** How many are awake. */
  count(): number
  close(): Promise<void>
}

export type ProcessHooks = {
  /** Prepares and starts a process; its messages go to `take`. Throws FunctionFailure, and system errors. */
  start(spec: FunctionSpec, take: (message: LauncherMessage) => void): Promise<StartedProcess>
  /** Writes a line about a process into the log of its function. */
  tell(spec: FunctionSpec, text: string): void
}

export type WaitLimits = ProcessLimits & {
  /** Requests of one function that wait for a process, and how long. */
  waiting: number
  waitMs: number
}

type Running = {
  id: number
  spec: FunctionSpec
  state: ProcessState
  since: number
  usedAt: number
  inFlight: number
  pending: number
  process: StartedProcess | undefined
  /** What ended it on purpose. */
  isEnding: boolean
}
type Waiter = { give(lease: Lease): void; fail(failure: FunctionFailure): void }
type Own = { spec: FunctionSpec; waiters: Set<Waiter>; failures: number[] }

type State = {
  hooks: ProcessHooks
  limits: WaitLimits
  running: Map<number, Running>
  own: Map<string, Own>
  made: number
  isClosed: boolean
}

const TICK_MS = 1000

/** Opens the table of processes. */
export function openProcesses(hooks: ProcessHooks, limits: WaitLimits): Processes {
  const state: State = { hooks, limits, running: new Map(), own: new Map(), made: 0, isClosed: false }
  const timer = setInterval(() => act(state), TICK_MS).unref()
  return {
    acquire: (spec, gone) => acquire(state, spec, gone),
    count: () => state.running.size,
    async close() {
      clearInterval(timer)
      state.isClosed = true
      for (const { waiters } of state.own.values()) for (const { fail } of waiters) fail(unavailable())
      await Promise.allSettled(
        state.running.values().map((one) => {
          one.isEnding = true
          return one.process?.destroy()
        }),
      )
    },
  }
}

function unavailable(): FunctionFailure {
  return new FunctionFailure('INTERNAL_FUNCTION_SERVICE_UNAVAILABLE', 'the sites server is stopping')
}

async function acquire(state: State, spec: FunctionSpec, gone: AbortSignal): Promise<Lease> {
  const { limits, running } = state
  if (state.isClosed) throw unavailable()
  const ready = running.values().find((one) => one.spec.key === spec.key && one.state === 'ready')
  if (ready !== undefined) return lease(state, ready)
  const own = state.own.getOrInsertComputed(spec.key, () => ({ spec, waiters: new Set(), failures: [] }))
  if (isBackedOff(own.failures, performance.now()))
    throw new FunctionFailure('FUNCTION_INVOCATION_FAILED', 'the function keeps ending: it is started again in a while')
  if (own.waiters.size >= limits.waiting)
    throw new FunctionFailure('FUNCTION_THROTTLED', 'too many requests wait for the function to start')
  const { promise, resolve, reject } = Promise.withResolvers<Lease>()
  const waiter: Waiter = { give: resolve, fail: reject }
  const late = setTimeout(
    () => reject(new FunctionFailure('FUNCTION_THROTTLED', 'the function was not ready in time')),
    limits.waitMs,
  )
  const leave = () => reject(new FunctionFailure('FUNCTION_THROTTLED', 'the visitor left'))
  gone.addEventListener('abort', leave, { once: true })
  own.waiters.add(waiter)
  act(state)
  try {
    return await promise
  } finally {
    clearTimeout(late)
    gone.removeEventListener('abort', leave)
    own.waiters.delete(waiter)
  }
}

function lease(state: State, one: Running): Lease {
  one.inFlight++
  let isHeld = true
  return {
    connections: one.process!.connections,
    hasEnded(ms) {
      const yes = () => true
      return Promise.race([one.process!.ended.then(yes, yes), sleep(ms, false, { ref: false })])
    },
    end: () => move(one, 'drain'),
    release() {
      if (!isHeld) return
      isHeld = false
      one.inFlight--
      one.usedAt = performance.now()
      if (one.state === 'draining') act(state)
    },
  }
}

function move(one: Running, event: ProcessEvent): void {
  const next = nextState(one.state, event)
  if (next === one.state) return
  one.state = next
  one.since = performance.now()
}

/** Plans, and executes the plan. */
function act(state: State): void {
  if (state.isClosed) return
  const now = performance.now()
  for (const action of planProcesses([...factsOf(state, now)], demandsOf(state, now), state.limits, now)) {
    if (action.do === 'start') begin(state, state.own.get(action.key)!)
    else if (action.do === 'drain') drain(state.running.get(action.id)!)
    else kill(state, state.running.get(action.id)!)
  }
}

/** What prepares has no limit here: a tool may be installed. */
function* factsOf({ running }: State, now: number) {
  for (const { spec, process, ...one } of running.values()) {
    const since = process === undefined ? now : one.since
    yield { ...one, since, key: spec.key, account: spec.account }
  }
}

/** Forgets functions whose state is not needed any more. */
function demandsOf({ own, running }: State, now: number): Demand[] {
  const awake = new Set(running.values().map(({ spec }) => spec.key))
  return [...own].map(([key, one]) => {
    one.failures = recentFailures(one.failures, now)
    if (one.waiters.size === 0 && one.failures.length === 0 && !awake.has(key)) own.delete(key)
    return { key, account: one.spec.account, waiting: one.waiters.size, failures: one.failures }
  })
}

function begin(state: State, own: Own): void {
  const now = performance.now()
  const one: Running = {
    ...{ id: ++state.made, spec: own.spec, state: 'starting', since: now, usedAt: now },
    ...{ inFlight: 0, pending: 0, process: undefined, isEnding: false },
  }
  state.running.set(one.id, one)
  void run(state, own, one)
}

/** The life of one process. */
async function run(state: State, own: Own, one: Running): Promise<void> {
  const { hooks } = state
  let failure = new FunctionFailure('FUNCTION_INVOCATION_FAILED', 'the function ended before it was ready')
  const take = (message: LauncherMessage) => {
    if (message.kind === 'pending') one.pending = Math.max(0, message.count)
    else if (message.kind === 'fault') void one.process?.destroy()
    else if (message.kind === 'ready' && one.state === 'starting') {
      move(one, 'ready')
      one.usedAt = performance.now()
      for (const { give } of own.waiters) give(lease(state, one))
      own.waiters.clear()
    }
  }
  try {
    one.process = await hooks.start(own.spec, take)
    one.since = performance.now()
    if (one.isEnding || state.isClosed) await one.process.destroy()
    const exit = await one.process.ended
    if (!one.isEnding && exit.code !== 0) hooks.tell(own.spec, describeExit(exit))
  } catch (error) {
    if (error instanceof FunctionFailure) failure = error
    else failure = new FunctionFailure('INTERNAL_FUNCTION_SERVICE_UNAVAILABLE', (error as Error).message, error)
  }
  const wasReady = one.state !== 'starting'
  if (!one.isEnding) own.failures.push(performance.now())
  move(one, 'exit')
  state.running.delete(one.id)
  await one.process?.destroy()
  if (!wasReady && !one.isEnding) {
    for (const { fail } of own.waiters) fail(failure)
    own.waiters.clear()
  }
  act(state)
}

/** Says in the log of a function how its process ended. Pure. */
export function describeExit({ code, signal, ranOutOfMemory }: Exit): string {
  if (ranOutOfMemory)
    return 'The process used more memory than it may have, and was ended. Set a higher `memory` of the function.'
  return `The process ended with ${code === null ? `signal ${signal}` : `exit code ${code}`}.`
}

/** No further request gets it. It ends on its own, or is killed later. */
function drain(one: Running): void {
  move(one, 'drain')
  one.isEnding = true
  one.process?.connections.order({ kind: 'drain' })
}

function kill(state: State, one: Running): void {
  if (one.state === 'starting') {
    state.hooks.tell(one.spec, 'The function was not ready in time.')
    const own = state.own.get(one.spec.key)
    own?.failures.push(performance.now())
    for (const { fail } of own?.waiters ?? [])
      fail(new FunctionFailure('FUNCTION_INVOCATION_TIMEOUT', 'the function was not ready in time'))
  }
  one.isEnding = true
  move(one, 'drain')
  void one.process?.destroy()
}
