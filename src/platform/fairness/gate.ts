/**
 * How many requests of one account run at once. Of those that make the longest lists, and of those that write most, fewer run at
 * once. The others wait, and accounts take turns. docs/limits.md.
 */
import { setImmediate as nextIteration } from 'node:timers/promises'
import { afterNextTick, beginShortRequest, endShortRequest, iterationMs } from '../base/event-loop.ts'
import { Refusal } from '../refusals/refusal.ts'
import { openTurns, type Turns } from './file-turns.ts'
import { createSemaphore } from './semaphore.ts'

/** Once an iteration of the event loop has been busy for so long, requests that wait are left for the next: what has arrived meanwhile is read first. */
const MAX_ITERATION_MS = 5
const MAX_WAITING = 256
const MAX_WAIT_MS = 10_000

export type Gate = {
  /** Lets a request of `owner` in, at once (undefined) or when it is its turn. Refuses: rate_limited 429 (too many wait, or this one waited for too long). */
  enter(owner: string): Promise<void> | undefined
  /** Says that a request of `owner` has ended. */
  leave(owner: string): void
  /** Looks again whether those that wait may enter: what `mayEnter` says may have changed. */
  recheck(): void
}

type Rules = {
  mostOfOne: number
  mostOfAll?: number
  /** Whether requests of an owner may enter now. */
  mayEnter?: (owner: string) => boolean
  /** How many times as long as in use a request waits: `BERTH_TEST_PATIENCE`. */
  patience?: number
}

/** A gate that nobody has entered yet. */
export function createGate({ mostOfOne, mostOfAll, mayEnter = () => true, patience: timeout = 1 }: Rules): Gate {
  const semaphore = createSemaphore({
    ...(mostOfAll !== undefined && { slots: mostOfAll }),
    canAcquire: (owner, inUse) => inUse < mostOfOne && mayEnter(owner),
    admit: createPacedAdmission(),
  })
  return {
    recheck: semaphore.recheck,
    leave: semaphore.release,
    enter(owner) {
      if (iterationMs() < MAX_ITERATION_MS && semaphore.tryAcquire(owner)) return undefined
      if (semaphore.waiting(owner) >= MAX_WAITING) throw tooManyRequests()
      return semaphore.acquire(owner, MAX_WAIT_MS * timeout).then((entered) => {
        if (!entered) throw tooManyRequests()
      })
    },
  }
}

/** Lets requests in one after another from the next iteration on, in each iteration for as long as it may be busy. */
function createPacedAdmission(): (letIn: () => boolean) => void {
  let running = false
  const run = async (letIn: () => boolean) => {
    for (;;) {
      await nextIteration()
      const began = performance.now()
      do {
        if (!letIn()) {
          running = false
          return
        }
        await afterNextTick()
      } while (performance.now() - began < MAX_ITERATION_MS)
    }
  }
  return (letIn) => {
    if (running) return
    running = true
    void run(letIn)
  }
}

function tooManyRequests(): Refusal {
  const message = 'Too many requests of this account at once - try again in 1 second.'
  return new Refusal('rate_limited', message, { name: 'in-flight' }, { 'retry-after': '1' })
}

/** The gates of a service: `all` for every request, and before it `lists` for long lists and `bulk` for writes with a long body. `files`, `slow`: for files, and for what takes long, alone. */
export type Gates = { all: Gate; lists: Gate; bulk: Gate; files: Turns; slow: Turns }

/**
 * `hasRoom`: whether an account may make another list; it may not while too much of its answers has not been sent. `patience`: how many
 * times as long as in use a request waits for its turn.
 */
export function createGates(engine: 'sqlite' | 'postgres', hasRoom: (owner: string) => boolean, timeout = 1): Gates {
  // Long transactions of one account would make each other lose races again and again, and then run alone while everybody waits.
  const bulk = createGate({ mostOfOne: 1, patience: timeout })
  const [files, slow] = [openTurns('files'), openTurns('deployments')]
  // The embedded store is read in this process: two lists of one account at once would only take turns.
  if (engine === 'sqlite')
    return {
      all: createGate({ mostOfOne: 64, patience: timeout }),
      bulk,
      files,
      slow,
      lists: createGate({ mostOfOne: 1, mostOfAll: 2, mayEnter: hasRoom, patience: timeout }),
    }
  // PostgreSQL has 20 connections: one account never takes them all.
  return {
    all: createGate({ mostOfOne: 16, patience: timeout }),
    bulk,
    files,
    slow,
    lists: createGate({ mostOfOne: 3, mostOfAll: 6, mayEnter: hasRoom, patience: timeout }),
  }
}

/** Answers when it is the account's turn: of lists and of bulk writes few are made at once. Refuses: rate_limited 429. */
export function runWhenAdmitted<T>(
  { lists, bulk, all, slow }: Gates,
  route: { list?: unknown; slow?: true },
  owner: string,
  isBulk: boolean,
  make: () => Promise<T>,
): Promise<T> {
  if (route.slow) return slow.inTurn(owner, make)
  if (route.list === undefined && !isBulk) return runInGate(all, owner, make, true)
  return runInGate(isBulk ? bulk : lists, owner, () => runInGate(all, owner, make, false), false)
}

/** Runs a request once the gate lets it in. `isShort`: long lists pause for it, also while it waits. */
async function runInGate<T>(gate: Gate, owner: string, make: () => Promise<T>, isShort: boolean): Promise<T> {
  if (isShort) beginShortRequest()
  try {
    const turn = gate.enter(owner)
    if (turn !== undefined) await turn
    try {
      return await make()
    } finally {
      gate.leave(owner)
    }
  } finally {
    if (isShort) endShortRequest()
  }
}
