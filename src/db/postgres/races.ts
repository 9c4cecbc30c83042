/** Transactions that lose a race are run again; one that loses several is let run alone. docs/scaling.md. */
import { setTimeout as sleep } from 'node:timers/promises'
import { refuse } from '../../refusal.ts'

const ATTEMPTS = 12
/** A long transaction loses to every short one that commits meanwhile: after so many losses no other writer runs beside it. */
const LOSSES_BESIDE_OTHERS = 3
const LONGEST_WAIT_MS = 100
/** Serialization failure, deadlock: PostgreSQL's word for "run it again". */
const LOST_RACE = new Set(['40001', '40P01'])

/** One attempt of a transaction. `alone`: no other writer of this instance runs, and those of others shall not commit before it. */
type Run<T> = (alone: boolean) => Promise<T>
/** Runs a transaction until it wins. Refuses: busy 503 (races lost again and again). */
export type Races = <T>(run: Run<T>) => Promise<T>

/**
 * Who lost goes in line: transactions of this instance that would make each other lose again and again (many at once on
 * neighbouring rows do, for PostgreSQL watches pages) then meet only newcomers and other instances.
 */
export function openRaces(onLost: () => void): Races {
  const inLine = openLine()
  const { beside, alone } = openTrack()
  return async (run) => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt === 1) return await beside(() => run(false))
        const last = attempt > LOSSES_BESIDE_OTHERS
        return await inLine(() => (last ? alone(() => run(true)) : beside(() => run(false))))
      } catch (error) {
        if (!isLostRace(error)) throw error
        onLost()
        if (attempt === ATTEMPTS) refuse('busy')
        // Full jitter: racers that met once should not meet again.
        await sleep(Math.random() * Math.min(LONGEST_WAIT_MS, 2 ** attempt))
      }
    }
  }
}

type Way = <T>(run: () => Promise<T>) => Promise<T>

/** Runs what it is given one after another, in the order of coming. */
function openLine(): Way {
  let last: Promise<unknown> = Promise.resolve()
  return (run) => {
    const turn = last.then(run)
    last = turn.catch(() => {})
    return turn
  }
}

/**
 * Two ways to run: `beside` others, and `alone`, which waits for those that run while newcomers wait for it. Who waits has no connection yet.
 * Of those that want to be alone one comes at a time: they stand in a line.
 */
function openTrack(): { beside: Way; alone: Way } {
  const running = new Set<Promise<unknown>>()
  let free: Promise<void> | undefined
  return {
    async beside(run) {
      while (free !== undefined) await free
      const one = run()
      const ended = one.catch(() => {}).finally(() => running.delete(ended))
      running.add(ended)
      return one
    },
    async alone(run) {
      const { promise, resolve } = Promise.withResolvers<void>()
      free = promise
      try {
        await Promise.all(running)
        return await run()
      } finally {
        free = undefined
        resolve()
      }
    },
  }
}

function isLostRace(error: unknown): boolean {
  const { code, constraint } = error as { code?: string; constraint?: string }
  // Another instance gave the same stamp in the same millisecond; the next attempt has a new one.
  return LOST_RACE.has(code ?? '') || (code === '23505' && (constraint ?? '').endsWith('_stamp'))
}
