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
    acquire: (spec, signal) => acquire(state, spec, signal),
    count: () => state.running.size,
    async close() {
      clearInterval(timer)
      state.isClosed = true
      for (const { waiters } of state.own.values()) for (const { fail } of waiters) fail(unavailable())
      await Promise.allSettled(
        state.running.values().map((each) => {
          each.isEnding = true
          return each.process?.destroy()
        }),
      )
    },
  }
}

function unavailable(): FunctionFailure {
  return new FunctionFailure('INTERNAL_FUNCTION_SERVICE_UNAVAILABLE', 'the sites server is stopping')
}

async function acquire(state: State, spec: FunctionSpec, signal: AbortSignal): Promise<Lease> {
  const { limits, running } = state
  if (state.isClosed) throw unavailable()
  const ready = running.values().find((each) => each.spec.key === spec.key && each.state === 'ready')
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
  signal.addEventListener('abort', leave, { once: true })
  own.waiters.add(waiter)
  act(state)
  try {
    return await promise
  } finally {
    clearTimeout(late)
    signal.removeEventListener('abort', leave)
    own.waiters.delete(waiter)
  }
}

function lease(state: State, running: Running): Lease {
  running.inFlight++
  let isHeld = true
  return {
    connections: running.process!.connections,
    hasEnded(ms) {
      const yes = () => true
      return Promise.race([running.process!.ended.then(yes, yes), sleep(ms, false, { ref: false })])
    },
    end: () => move(running, 'drain'),
    release() {
      if (!isHeld) return
      isHeld = false
      running.inFlight--
      running.usedAt = performance.now()
      if (running.state === 'draining') act(state)
    },
  }
}

function move(running: Running, event: ProcessEvent): void {
  const next = nextState(running.state, event)
  if (next === running.state) return
  running.state = next
  running.since = performance.now()
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
  for (const { spec, process, ...rest } of running.values()) {
    const since = process === undefined ? now : rest.since
    yield { ...rest, since, key: spec.key, account: spec.account }
  }
}

/** Forgets functions whose state is not needed any more. */
function demandsOf({ own, running }: State, now: number): Demand[] {
  const awake = new Set(running.values().map(({ spec }) => spec.key))
  return [...own].map(([key, each]) => {
    each.failures = recentFailures(each.failures, now)
    if (each.waiters.size === 0 && each.failures.length === 0 && !awake.has(key)) own.delete(key)
    return { key, account: each.spec.account, waiting: each.waiters.size, failures: each.failures }
  })
}

function begin(state: State, own: Own): void {
  const now = performance.now()
  const running: Running = {
    ...{ id: ++state.made, spec: own.spec, state: 'starting', since: now, usedAt: now },
    ...{ inFlight: 0, pending: 0, process: undefined, isEnding: false },
  }
  state.running.set(running.id, running)
  void run(state, own, running)
}

/** The life of one process. */
async function run(state: State, own: Own, running: Running): Promise<void> {
  const { hooks } = state
  let failure = new FunctionFailure('FUNCTION_INVOCATION_FAILED', 'the function ended before it was ready')
  const take = (message: LauncherMessage) => {
    if (message.kind === 'pending') running.pending = Math.max(0, message.count)
    else if (message.kind === 'fault') void running.process?.destroy()
    else if (message.kind === 'ready' && running.state === 'starting') {
      move(running, 'ready')
      running.usedAt = performance.now()
      for (const { give } of own.waiters) give(lease(state, running))
      own.waiters.clear()
    }
  }
  try {
    running.process = await hooks.start(own.spec, take)
    running.since = performance.now()
    if (running.isEnding || state.isClosed) await running.process.destroy()
    const exit = await running.process.ended
    if (!running.isEnding && exit.code !== 0) hooks.tell(own.spec, describeExit(exit))
  } catch (error) {
    if (error instanceof FunctionFailure) failure = error
    else failure = new FunctionFailure('INTERNAL_FUNCTION_SERVICE_UNAVAILABLE', (error as Error).message, error)
  }
  const wasReady = running.state !== 'starting'
  if (!running.isEnding) own.failures.push(performance.now())
  move(running, 'exit')
  state.running.delete(running.id)
  await running.process?.destroy()
  if (!wasReady && !running.isEnding) {
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
function drain(running: Running): void {
  move(running, 'drain')
  running.isEnding = true
  running.process?.connections.order({ kind: 'drain' })
}

function kill(state: State, running: Running): void {
  if (running.state === 'starting') {
    state.hooks.tell(running.spec, 'The function was not ready in time.')
    const own = state.own.get(running.spec.key)
    own?.failures.push(performance.now())
    for (const { fail } of own?.waiters ?? [])
      fail(new FunctionFailure('FUNCTION_INVOCATION_TIMEOUT', 'the function was not ready in time'))
  }
  running.isEnding = true
  move(running, 'drain')
  void running.process?.destroy()
}
