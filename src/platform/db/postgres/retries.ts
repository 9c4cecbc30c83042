import { setTimeout as sleep } from 'node:timers/promises'
import { createSemaphore, type Semaphore } from '../../fairness/semaphore.ts'
import { refuse } from '../../refusals/refusal.ts'
import { isSerializationFailure } from './conditions.ts'

const ATTEMPTS = 12
/** A long transaction conflicts with every short one that commits meanwhile: after this many retries it runs without other writers. */
const RETRIES_BEFORE_EXCLUSIVE = 3
const MAX_WAIT_MS = 100
/** One attempt of a transaction. `alone`: no other writer of this instance runs, and those of other instances must not commit before it. */
type Run<T> = (alone: boolean) => Promise<T>
/** Runs a transaction of an owner until it commits. Refuses: busy 503 (repeated serialization failures). */
export type RetryTransaction = <T>(owner: string, run: Run<T>) => Promise<T>

/**
 * Creates the retry loop of serializable transactions. An owner retries one transaction at a time: PostgreSQL detects conflicts per page, so
 * concurrent retries of nearby rows fail again. After three failures a transaction runs alone. Returns a function that refuses: busy 503.
 * docs/scaling.md.
 */
export function createRetries(onLost: () => void): RetryTransaction {
  const retries = createSemaphore({ canAcquire: (_, inUse) => inUse === 0 })
  const alone = createSemaphore({ slots: 1 })
  const { shared, exclusive } = createLock()
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
        // Full jitter keeps the same transactions from conflicting again.
        await sleep(Math.random() * Math.min(MAX_WAIT_MS, 2 ** attempt))
      }
    }
  }
}

async function withSlot<T>(semaphore: Semaphore, owner: string, run: () => Promise<T>): Promise<T> {
  if (!semaphore.tryAcquire(owner)) await semaphore.acquire(owner)
  try {
    return await run()
  } finally {
    semaphore.release(owner)
  }
}

type Way = <T>(run: () => Promise<T>) => Promise<T>

/** A reader-writer lock. `exclusive` waits for running ones while new ones wait for it; its caller runs one at a time. Waiting holds no connection. */
function createLock(): { shared: Way; exclusive: Way } {
  const running = new Set<Promise<unknown>>()
  let free: Promise<void> | undefined
  return {
    async shared(run) {
      while (free !== undefined) await free
      const attempt = run()
      const ended = attempt.catch(() => {}).finally(() => running.delete(ended))
      running.add(ended)
      return attempt
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
