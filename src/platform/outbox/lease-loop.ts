/**
 * Works off a queue in the store: it takes pieces that are due, does each of them, and looks again. Deliveries and letters are sent this way.
 * Taking a piece is a lease. Until it ends no other instance takes the piece; when it ends, because an instance died, another one does.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../../context.ts'

export type LeaseQueue<T> = {
  /** The word for the pieces in the log. */
  name: string
  /** Leases pieces that are due at `now`, as many as there is room for beside those that are `running`. */
  lease(now: number, running: readonly T[]): Promise<T[]>
  /** Does one piece and writes its outcome. It never throws. `stop` is aborted when the service stops and waits no longer. */
  run(piece: T, now: () => number, stop: AbortSignal): Promise<void>
}

/** How often to look without a wake-up: other instances write too, and pieces that were delayed come due. */
const POLL_MS = 1000
/** A wake-up comes from a transaction that is about to commit. So the loop looks a moment later, and once more in case the commit took longer. */
const SOON_MS = [15, 150]
/** How long pieces that are under way may go on once the service stops. */
const STOP_MS = 3000

/** Does every piece that is due at `now`. Gives how many pieces it took. */
export async function drainLeaseQueue<T>(work: LeaseQueue<T>, now: number, stop: AbortSignal): Promise<number> {
  const pool = openPool(work, () => now, stop)
  for (let count = 0; ; ) {
    const ended = pool.ended()
    const started = stop.aborted ? 0 : await pool.begin(now)
    count += started
    // A piece that ended during the look may have made the next one due.
    if (started === 0 && pool.ended() === ended && !(await pool.oneEnded())) return count
  }
}

/** Starts the loop. `wake` makes it look soon. `stop` ends it: pieces that are under way have 3 s to end, then they are told to give up. */
export function startLeaseWorker<T>(
  { clock, log }: Pick<Deps, 'clock' | 'log'>,
  work: LeaseQueue<T>,
): { wake(): void; stop(): Promise<void> } {
  const giveUp = new AbortController()
  const pool = openPool(work, clock.now, giveUp.signal, () => look(0))
  const timers = new Set<NodeJS.Timeout>()
  let stopping = false
  let looking: Promise<void> | undefined
  let again = false

  const look = (afterMs: number) => {
    if (stopping) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      again = looking !== undefined
      looking ??= round()
    }, afterMs)
    timers.add(timer)
  }
  const round = async () => {
    try {
      await pool.begin(clock.now())
    } catch (error) {
      log.warn({ err: error }, `the queue of ${work.name} could not be read; it is read again in a second`)
    }
    looking = undefined
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
      await looking
      await Promise.race([pool.allEnded(), sleep(STOP_MS, undefined, { ref: false })])
      giveUp.abort()
      await pool.allEnded()
    },
  }
}

/** The pieces that are under way. `onEnd` is called when one has ended, so that there is room for another. */
function openPool<T>({ lease, run }: LeaseQueue<T>, now: () => number, stop: AbortSignal, onEnd = () => {}) {
  const running = new Map<Promise<void>, T>()
  let ended = 0
  const start = (piece: T) => {
    const one: Promise<void> = run(piece, now, stop).then(() => {
      running.delete(one)
      ended++
      onEnd()
    })
    running.set(one, piece)
  }
  return {
    /** Takes pieces that are due and starts them. Gives how many. */
    async begin(at: number): Promise<number> {
      const rows = await lease(at, [...running.values()])
      for (const piece of rows) start(piece)
      return rows.length
    },
    /** How many have ended so far. */
    ended: () => ended,
    /** Waits until one has ended. Gives false at once when none is under way. */
    async oneEnded(): Promise<boolean> {
      if (running.size === 0) return false
      await Promise.race(running.keys())
      return true
    },
    allEnded: () => Promise.all(running.keys()),
  }
}
