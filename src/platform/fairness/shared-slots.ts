/** Slots that owners share, and within an owner those who ask of it: no visitor takes all that a site has. docs/limits.md. */
import { createSemaphore, type Semaphore } from './semaphore.ts'

export type SharedSlots = {
  /** Takes a slot when it is the turn of the owner, and within it of the asker. Gives false if that takes longer than `timeoutMs`, or `signal` is aborted before. */
  acquire(owner: string, asker: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean>
  /** Releases a slot. */
  release(owner: string, asker: string): void
}

/** `users`: that have a slot or wait for one. */
type Own = { askers: Semaphore; users: number }

/**
 * Free slots: `slots` for all owners, at most `ofOwner` of one and never more than are left free. Of those of an owner, no asker
 * has more than are left free.
 */
export function createSharedSlots({ slots, ofOwner }: { slots: number; ofOwner: number }): SharedSlots {
  const owners = createSemaphore({ slots, canAcquire: (_, inUse, free) => inUse < ofOwner && inUse < free })
  const own = new Map<string, Own>()
  const enter = (owner: string): Own => {
    const slots = own.getOrInsertComputed(owner, () => ({
      askers: createSemaphore({ slots: ofOwner, canAcquire: (_, inUse, free) => inUse < free }),
      users: 0,
    }))
    slots.users++
    return slots
  }
  const leave = (owner: string, slots: Own) => {
    if (--slots.users === 0) own.delete(owner)
  }
  return {
    async acquire(owner, asker, timeoutMs, signal) {
      const until = performance.now() + timeoutMs
      const slots = enter(owner)
      if (await slots.askers.acquire(asker, timeoutMs, signal)) {
        if (await owners.acquire(owner, Math.max(0, until - performance.now()), signal)) return true
        slots.askers.release(asker)
      }
      leave(owner, slots)
      return false
    },
    release(owner, asker) {
      const slots = own.get(owner)!
      owners.release(owner)
      slots.askers.release(asker)
      leave(owner, slots)
    },
  }
}
