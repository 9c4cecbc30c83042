/**
 * Passwords of sites are checked few at a time. Sites take turns, and at a site the addresses that ask: nobody's guesses shut out
 * another visitor, or another site. docs/edge.md; docs/limits.md.
 */
import { type FairQueue, openFairQueue } from '../fair-queue.ts'
import { openSemaphore } from '../semaphore.ts'

/** A check costs 19 MiB and some 30 ms of a core. */
const MOST_AT_ONCE = 2
/** Those behind them are asked to come again: of one address at a site, and of all at a site. */
const MOST_OF_ADDRESS = 16
const MOST_OF_SITE = 512

/** Runs a check of `address` at `site` when it is its turn; undefined when too many wait. */
export type PasswordLine = <T>(site: string, address: string, check: () => Promise<T>) => Promise<T | undefined>

/** Nobody waits yet. Sites take turns, and so do the addresses that wait at one site. */
export function openPasswordLine(): PasswordLine {
  const semaphore = openSemaphore({ slots: MOST_AT_ONCE })
  /** The visitors of each site that wait, by address. */
  const queues = new Map<string, FairQueue<() => void>>()
  return async (site, address, check) => {
    if (!semaphore.tryTake(site)) {
      const visitors = queues.get(site) ?? openFairQueue<() => void>()
      if (visitors.sizeOf(address) >= MOST_OF_ADDRESS || visitors.size() >= MOST_OF_SITE) return undefined
      queues.set(site, visitors)
      // A slot is the site's: the address whose turn it is at the site takes it.
      void semaphore.take(site).then(() => visitors.shift()!())
      await new Promise<void>((resolve) => visitors.push(address, resolve))
      if (visitors.size() === 0) queues.delete(site)
    }
    try {
      return await check()
    } finally {
      semaphore.release(site)
    }
  }
}
