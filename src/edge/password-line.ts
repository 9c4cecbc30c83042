/**
 * Passwords of sites are checked few at a time. Sites take turns, and at a site the addresses that ask: nobody's guesses shut out
 * another visitor, or another site. docs/edge.md; docs/limits.md.
 */
import { type FairLine, openFairLine } from '../fair-line.ts'

/** A check costs 19 MiB and some 30 ms of a core. */
const MOST_AT_ONCE = 2
/** Those behind them are asked to come again: of one address at a site, and of all at a site. */
const MOST_OF_ADDRESS = 16
const MOST_OF_SITE = 512

/** Runs a check of `address` at `site` when it is its turn; undefined when too many wait. */
export type PasswordLine = <T>(site: string, address: string, check: () => Promise<T>) => Promise<T | undefined>

/** Nobody waits yet. */
export function openPasswordLine(): PasswordLine {
  /** Each that waits: first by site, then by address. */
  const turns = openFairLine<FairLine<() => void>>()
  const sites = new Map<string, FairLine<() => void>>()
  let running = 0
  return async (site, address, check) => {
    if (running < MOST_AT_ONCE) running++
    else {
      const visitors = sites.get(site) ?? openFairLine<() => void>()
      if (visitors.sizeOf(address) >= MOST_OF_ADDRESS || visitors.size() >= MOST_OF_SITE) return undefined
      sites.set(site, visitors)
      turns.push(site, visitors)
      await new Promise<void>((resolve) => visitors.push(address, resolve))
      if (visitors.size() === 0) sites.delete(site)
    }
    try {
      return await check()
    } finally {
      const next = turns.shift()?.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
