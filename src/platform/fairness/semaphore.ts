/** A semaphore with a fair queue of owners. docs/limits.md. */
import { createFairQueue } from './fair-queue.ts'

export type Semaphore = {
  /** Acquires a slot if one is free and the owner has no waiters. Returns whether it did. */
  tryAcquire(owner: string): boolean
  /** Acquires a slot in the owner's turn. Returns false after `timeoutMs`, or when `signal` is aborted, also before the call. */
  acquire(owner: string, timeoutMs?: number, signal?: AbortSignal): Promise<boolean>
  release(owner: string): void
  waiting(owner: string): number
  /** Re-evaluates the waiters after a result of `canAcquire` may have changed. */
  recheck(): void
}

export type SemaphoreRules = {
  /** Slots of all owners together; no limit if absent. */
  slots?: number
  /** Whether an owner with `inUse` slots may acquire one of `free` slots. */
  canAcquire?: (owner: string, inUse: number, free: number) => boolean
  /** Schedules the admission of waiters. Each call of `admitNext` grants one slot, and returns false when no waiter may have one. By default all at once. */
  admit?: (admitNext: () => boolean) => void
}

/** Creates a semaphore. */
export function createSemaphore({ admit = admitAll, ...rules }: SemaphoreRules): Semaphore {
  const queue = createFairQueue<() => void>()
  const slots = createSlots(rules)
  const admitNext = () => {
    const next = queue.shift(slots.fits)
    next?.()
    return next !== undefined
  }
  const wake = () => {
    if (queue.size() > 0) admit(admitNext)
  }
  return {
    recheck: wake,
    waiting: queue.sizeOf,
    tryAcquire(owner) {
      if (queue.sizeOf(owner) > 0 || !slots.fits(owner)) return false
      slots.add(owner, 1)
      return true
    },
    acquire(owner, timeoutMs, signal) {
      return new Promise((resolve) => {
        if (signal?.aborted) return resolve(false)
        const go = () => {
          clearTimeout(timeout)
          signal?.removeEventListener('abort', abort)
          slots.add(owner, 1)
          resolve(true)
        }
        const abort = () => {
          clearTimeout(timeout)
          queue.remove(owner, go)
          resolve(false)
        }
        const timeout = timeoutMs === undefined ? undefined : setTimeout(abort, timeoutMs)
        signal?.addEventListener('abort', abort, { once: true })
        queue.push(owner, go)
        wake()
      })
    },
    release(owner) {
      slots.add(owner, -1)
      wake()
    },
  }
}

function admitAll(admitNext: () => boolean): void {
  while (admitNext());
}

function createSlots({ slots = Number.POSITIVE_INFINITY, canAcquire = () => true }: SemaphoreRules) {
  const counts = new Map<string, number>()
  let total = 0
  const heldBy = (owner: string) => counts.get(owner) ?? 0
  return {
    fits: (owner: string) => total < slots && canAcquire(owner, heldBy(owner), slots - total),
    add(owner: string, change: 1 | -1) {
      total += change
      const count = heldBy(owner) + change
      if (count === 0) counts.delete(owner)
      else counts.set(owner, count)
    },
  }
}
