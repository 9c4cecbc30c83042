/** Limits the concurrent requests of an account, with lower limits for long lists and bulk writes. Others wait in a fair queue. docs/limits.md. */
import { setImmediate as nextIteration } from 'node:timers/promises'
import {
  afterNextTick,
  beginShortRequest,
  endShortRequest,
  iterationMs,
  pauseForShortRequests,
} from '../base/event-loop.ts'
import { Refusal } from '../refusals/refusal.ts'
import { createTurns, type Turns } from './file-turns.ts'
import { createSemaphore } from './semaphore.ts'

/** After an iteration this long, waiting requests are left for the next one, so that new input is read first. */
const MAX_ITERATION_MS = 5
const MAX_WAITING = 256
const MAX_WAIT_MS = 10_000
/** How long an owner of a bulk write begins no other: as long as it took, and for each MiB that was read. */
const MAX_REST_MS = 250
const REST_MS_PER_BYTE = 25 / 1024 ** 2
/** Bodies above this size count as bulk writes. */
const BULK_BYTES = 8 * 1024
/** Long bodies of an account that are read or processed; others wait in their connections, unread. */
const MAX_LONG_BODIES = 8

export type Gate = {
  /** Admits a request of `owner`, at once (undefined) or in its turn. Refuses: rate_limited 429 (too many wait, or this one waited for too long). */
  enter(owner: string): Promise<void> | undefined
  leave(owner: string): void
  /** Re-evaluates waiting requests, for example after capacity was freed. */
  recheck(): void
}

type Rules = {
  maxPerOwner: number
  maxTotal?: number
  canEnter?: (owner: string) => boolean
  /** Factor of the timeout of waiting requests: `BERTH_TEST_PATIENCE`. */
  patience?: number
}

/** Creates an empty gate. */
export function createGate({ maxPerOwner, maxTotal, canEnter = () => true, patience: timeout = 1 }: Rules): Gate {
  const semaphore = createSemaphore({
    ...(maxTotal !== undefined && { slots: maxTotal }),
    canAcquire: (owner, inUse) => inUse < maxPerOwner && canEnter(owner),
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

/** Admits requests one at a time from the next iteration on, within the busy time of each iteration. */
function createPacedAdmission(): (admitNext: () => boolean) => void {
  let running = false
  const run = async (admitNext: () => boolean) => {
    for (;;) {
      await nextIteration()
      const began = performance.now()
      do {
        if (!admitNext()) {
          running = false
          return
        }
        await afterNextTick()
      } while (performance.now() - began < MAX_ITERATION_MS)
    }
  }
  return (admitNext) => {
    if (running) return
    running = true
    void run(admitNext)
  }
}

function tooManyRequests(): Refusal {
  const message = 'Too many requests of this account at once - try again in 1 second.'
  return new Refusal('rate_limited', message, { name: 'in-flight' }, { 'retry-after': '1' })
}

/**
 * The gates of a service: `all` for every request; before it `lists` for long lists and `bulk` for long bodies, which `bodies` admits before they are
 * read. `files` and `slow` stand alone.
 */
export type Gates = { all: Gate; lists: Gate; bulk: Gate; bodies: Gate; files: Turns; slow: Turns }

/** A body that waits in its connection. `read`: reads it whole. */
export type LongBody = { read(): Promise<Buffer> }

/**
 * Creates the gates. `hasCapacity`: whether an account may start another list; false while too many of its bytes are pending. `timeout`: factor of the
 * waiting time.
 */
export function createGates(
  engine: 'sqlite' | 'postgres',
  hasCapacity: (owner: string) => boolean,
  timeout = 1,
): Gates {
  // Concurrent long transactions of one account would cause each other serialization failures, then run exclusively and block everyone.
  const bulk = createGate({ maxPerOwner: 1, patience: timeout })
  const bodies = createGate({ maxPerOwner: MAX_LONG_BODIES, patience: timeout })
  const [files, slow] = [createTurns('files'), createTurns('deployments')]
  // SQLite is read in this process: two lists of one account would only slow each other down.
  if (engine === 'sqlite')
    return {
      all: createGate({ maxPerOwner: 64, patience: timeout }),
      bulk,
      bodies,
      files,
      slow,
      lists: createGate({ maxPerOwner: 1, maxTotal: 2, canEnter: hasCapacity, patience: timeout }),
    }
  // PostgreSQL has 20 connections; an account never gets all of them.
  return {
    all: createGate({ maxPerOwner: 16, patience: timeout }),
    bulk,
    bodies,
    files,
    slow,
    lists: createGate({ maxPerOwner: 2, maxTotal: 6, canEnter: hasCapacity, patience: timeout }),
  }
}

/** Runs a request when the gates admit it: few lists and bulk writes run at once. Refuses: rate_limited 429. */
export function runWhenAdmitted<T>(
  { lists, bulk, all, slow }: Gates,
  route: { list?: unknown; slow?: true },
  owner: string,
  bulkBytes: number,
  make: () => Promise<T>,
): Promise<T> {
  if (route.slow) return slow.inTurn(owner, make)
  if (route.list === undefined && bulkBytes === 0) return runInGate(all, owner, make, true)
  const run = () => runInGate(all, owner, make, false)
  return bulkBytes > 0 ? runBulk(bulk, owner, bulkBytes, run) : runInGate(lists, owner, run, false)
}

/** Whether a body of this size is a bulk write. NaN: unknown, so it may be. */
export function isBulk(bytes: number): boolean {
  return !(bytes <= BULK_BYTES)
}

/** Reads a long body in the turn of its owner, and runs `make` with it. Refuses: rate_limited 429, and as reading does. */
export async function runWithBody<T>(
  { bodies }: Gates,
  { slow }: { slow?: true },
  owner: string,
  { read }: LongBody,
  make: (body: Buffer) => Promise<T>,
): Promise<T> {
  // A slow route waits for its own turn without a timeout, and others of its account are read meanwhile.
  if (slow) return make(await runInGate(bodies, owner, read, false))
  return runInGate(bodies, owner, async () => make(await read()), false)
}

/** Runs a bulk write, and lets its owner rest: otherwise each iteration of the event loop would parse a large body. */
async function runBulk<T>(gate: Gate, owner: string, bytes: number, make: () => Promise<T>): Promise<T> {
  const place = gate.enter(owner)
  if (place !== undefined) await place
  await pauseForShortRequests()
  const startedAt = performance.now()
  try {
    return await make()
  } finally {
    const took = performance.now() - startedAt
    setTimeout(() => gate.leave(owner), Math.max(Math.min(took, MAX_REST_MS), bytes * REST_MS_PER_BYTE))
  }
}

/** Runs a request when the gate admits it. `isShort`: long lists pause for it, also while it waits. */
async function runInGate<T>(gate: Gate, owner: string, make: () => Promise<T>, isShort: boolean): Promise<T> {
  if (isShort) beginShortRequest()
  try {
    const place = gate.enter(owner)
    if (place !== undefined) await place
    try {
      return await make()
    } finally {
      gate.leave(owner)
    }
  } finally {
    if (isShort) endShortRequest()
  }
}
