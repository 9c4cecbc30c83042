/** A semaphore whose slots owners share. When none is free for an owner it waits, and owners take turns. docs/limits.md. */
import { createFairQueue } from './fair-queue.ts'

export type Semaphore = {
  /** Takes a slot if one is free for the owner and none of its own waits. Says whether it did. */
  tryAcquire(owner: string): boolean
  /** Takes a slot when it is the owner's turn. Gives false if that takes longer than `patienceMs`, or `gone` is aborted before. */
  acquire(owner: string, patienceMs?: number, gone?: AbortSignal): Promise<boolean>
  /** Gives a slot back. */
  release(owner: string): void
  /** How many of the owner wait. */
  waiting(owner: string): number
  /** Looks again for whom a slot is free: what `mayTake` says may have changed. */
  recheck(): void
}

export type SemaphoreRules = {
  /** The slots of all owners together; no limit where it is absent. */
  slots?: number
  /** Whether an owner that holds so many slots may take one more, when so many are free. */
  canAcquire?: (owner: string, inUse: number, free: number) => boolean
  /**
   * How those that wait are let in: each call of `letIn` gives one slot, and false once no owner that waits may take one. By default
   * all at once.
   */
  admit?: (letIn: () => boolean) => void
}

/** A semaphore of which every slot is free. */
export function createSemaphore({ admit = admitAll, ...rules }: SemaphoreRules): Semaphore {
  const queue = createFairQueue<() => void>()
  const slots = openSlots(rules)
  const letIn = () => {
    const next = queue.shift(slots.fits)
    next?.()
    return next !== undefined
  }
  const wake = () => {
    if (queue.size() > 0) admit(letIn)
  }
  return {
    recheck: wake,
    waiting: queue.sizeOf,
    tryAcquire(owner) {
      if (queue.sizeOf(owner) > 0 || !slots.fits(owner)) return false
      slots.add(owner, 1)
      return true
    },
    acquire(owner, patienceMs, gone) {
      return new Promise((resolve) => {
        const go = () => {
          clearTimeout(timeout)
          gone?.removeEventListener('abort', giveUp)
          slots.add(owner, 1)
          resolve(true)
        }
        const giveUp = () => {
          clearTimeout(timeout)
          queue.remove(owner, go)
          resolve(false)
        }
        const timeout = patienceMs === undefined ? undefined : setTimeout(giveUp, patienceMs)
        gone?.addEventListener('abort', giveUp, { once: true })
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

function admitAll(letIn: () => boolean): void {
  while (letIn());
}

/** The slots that are taken, by owner, and whether one is free for an owner. */
function openSlots({ slots = Number.POSITIVE_INFINITY, canAcquire = () => true }: SemaphoreRules) {
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
