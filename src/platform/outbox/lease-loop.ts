/**
 * Processes a queue in the database, for deliveries and email. An item is leased: no other instance takes it until the lease ends, for example because
 * the instance died.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../../context.ts'

export type LeaseQueue<T> = {
  /** The name of the items in the log. */
  name: string
  /** Leases items that are due at `now`, as many as fit with the `running` ones. */
  lease(now: number, running: readonly T[]): Promise<T[]>
  /** Processes one item and writes its outcome. Never throws. `stop` is aborted when a stop waits no longer. */
  run(piece: T, now: () => number, stop: AbortSignal): Promise<void>
}

/** The poll interval: other instances write too, and delayed items come due. */
const POLL_MS = 1000
/** A wake-up comes shortly before the commit. So the loop polls a little later, and once more for slow commits. */
const SOON_MS = [15, 150]
/** How long a stop waits for items in progress. */
const STOP_MS = 3000

/** Processes every item that is due at `now`. Returns how many it leased. */
export async function drainLeaseQueue<T>(work: LeaseQueue<T>, now: number, stop: AbortSignal): Promise<number> {
  const pool = openPool(work, () => now, stop)
  for (let count = 0; ; ) {
    const ended = pool.ended()
    const started = stop.aborted ? 0 : await pool.begin(now)
    count += started
    // An item that finished during the poll may have made the next one due.
    if (started === 0 && pool.ended() === ended && !(await pool.oneEnded())) return count
  }
}

/** Starts the loop. `wake` makes it poll soon. `stop` waits 3 s for items in progress, then aborts them. */
export function startLeaseWorker<T>(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  work: LeaseQueue<T>,
): { wake(): void; stop(): Promise<void> } {
  const controller = new AbortController()
  const pool = openPool(work, clock.now, controller.signal, () => look(0))
  const timers = new Set<NodeJS.Timeout>()
  let stopping = false
  let polling: Promise<void> | undefined
  let again = false

  const look = (afterMs: number) => {
    if (stopping) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      again = polling !== undefined
      polling ??= round()
    }, afterMs)
    timers.add(timer)
  }
  const round = async () => {
    try {
      await pool.begin(clock.now())
    } catch (error) {
      log.warn({ err: error }, `the queue of ${work.name} could not be read; it is read again in a second`)
    }
    polling = undefined
    if (again) look(0)
    again = false
  }
  const poll = setInterval(() => look(0), POLL_MS)
  return {
    wake() {
      if (timers.size < 2 * SOON_MS.length) for (const afterMs of SOON_MS) look(afterMs)
    },
    async stop() {
      stopping = true
      clearInterval(poll)
      for (const timer of timers) clearTimeout(timer)
      await polling
      await Promise.race([pool.allEnded(), sleep(STOP_MS, undefined, { ref: false })])
      controller.abort()
      await pool.allEnded()
    },
  }
}

/** The items in progress. `onEnd` is called when one has finished. */
function openPool<T>({ lease, run }: LeaseQueue<T>, now: () => number, stop: AbortSignal, onEnd = () => {}) {
  const running = new Map<Promise<void>, T>()
  let ended = 0
  const start = (piece: T) => {
    const ending: Promise<void> = run(piece, now, stop).then(() => {
      running.delete(ending)
      ended++
      onEnd()
    })
    running.set(ending, piece)
  }
  return {
    /** Leases and starts due items. Returns how many. */
    async begin(at: number): Promise<number> {
      const rows = await lease(at, [...running.values()])
      for (const piece of rows) start(piece)
      return rows.length
    },
    ended: () => ended,
    /** Waits until one has finished. Returns false when none is in progress. */
    async oneEnded(): Promise<boolean> {
      if (running.size === 0) return false
      await Promise.race(running.keys())
      return true
    },
    allEnded: () => Promise.all(running.keys()),
  }
}
