import { iterationMs } from '../event-loop.ts'

/** Rows that one statement carries: both engines bound the number of values in a statement, and one of this size takes milliseconds. */
const SLICE = 100

/** Cuts rows for statements that carry many of them. */
export function chunks<T>(all: readonly T[]): T[][] {
  const cut: T[][] = []
  for (let at = 0; at < all.length; at += SLICE) cut.push(all.slice(at, at + SLICE))
  return cut
}

/** Work of one request lets others run this often: with the longest single step it stays below 25 ms. */
const TURN_MS = 8

/**
 * For work of many steps, also within a transaction: said after each step, it lets what else waits in this process run once this turn of the
 * event loop has lasted a while, whatever it was busy with. On SQLite other writers still wait for the transaction; who reads does not.
 */
export function openPace(): () => Promise<void> | undefined {
  iterationMs()
  return () => (iterationMs() < TURN_MS ? undefined : new Promise((resolve) => setImmediate(resolve)))
}
