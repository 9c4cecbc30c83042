/** Transactions that lose a race are run again; one that loses several runs alone. docs/scaling.md. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createSemaphore, type Semaphore } from '../../fairness/semaphore.ts'
import { refuse } from '../../refusals/refusal.ts'
import { isSerializationFailure } from './conditions.ts'

const ATTEMPTS = 12
/** A long transaction loses to every short one that commits meanwhile: after so many losses no other writer runs beside it. */
const RETRIES_BEFORE_EXCLUSIVE = 3
const MAX_WAIT_MS = 100
/** One attempt of a transaction. `alone`: no other writer of this instance runs, and those of other instances must not commit before it. */
type Run<T> = (alone: boolean) => Promise<T>
/** Runs a transaction of an owner until it wins. Refuses: busy 503 (races lost again and again). */
export type RetryTransaction = <T>(owner: string, run: Run<T>) => Promise<T>

/**
 * Of the transactions of one owner that lost a race, one at a time is run again: many at once on neighbouring rows would make each
 * other lose again, for PostgreSQL watches pages. Those of other owners do not wait for them. After three losses a transaction runs alone: one of all owners at a time.
 * The function that it gives refuses: busy 503.
 */
export function createRetries(onLost: () => void): RetryTransaction {
  const retries = createSemaphore({ canAcquire: (_, inUse) => inUse === 0 })
  const alone = createSemaphore({ slots: 1 })
  const { shared, exclusive } = openLock()
  return async (owner, run) => {
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt === 1) return await shared(() => run(false))
        if (attempt <= RETRIES_BEFORE_EXCLUSIVE) return await withSlot(retries, owner, () => shared(() => run(false)))
        return await withSlot(retries, owner, () => withSlot(alone, owner, () => exclusive(() => run(true))))
      } catch (error) {
        if (!isSerializationFailure(error)) throw error
        onLost()
        if (attempt === ATTEMPTS) refuse('busy')
        // Full jitter: racers that met once should not meet again.
        await sleep(Math.random() * Math.min(MAX_WAIT_MS, 2 ** attempt))
      }
    }
  }
}

/** Runs something while it holds a slot. */
async function withSlot<T>(semaphore: Semaphore, owner: string, run: () => Promise<T>): Promise<T> {
  if (!semaphore.tryAcquire(owner)) await semaphore.acquire(owner)
  try {
    return await run()
  } finally {
    semaphore.release(owner)
  }
}

type Way = <T>(run: () => Promise<T>) => Promise<T>

/**
 * A lock with two ways to run. `exclusive` waits for those that run, while newcomers wait for it; the caller runs one at a time.
 * Whoever waits has no connection yet.
 */
function openLock(): { shared: Way; exclusive: Way } {
  const running = new Set<Promise<unknown>>()
  let free: Promise<void> | undefined
  return {
    async shared(run) {
      while (free !== undefined) await free
      const one = run()
      const ended = one.catch(() => {}).finally(() => running.delete(ended))
      running.add(ended)
      return one
    },
    async exclusive(run) {
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
