/** Work on many rows, cut so that neither a statement nor an iteration of the event loop is long. */
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
 * For work of many steps, also within a transaction. Call what it gives after each step, and await it: once this iteration of the event loop has
 * lasted 8 ms, it lets the rest of the process run. On SQLite other writers still wait for the transaction, and readers do not.
 */
export function openPace(): () => Promise<void> | undefined {
  iterationMs()
  return () => (iterationMs() < TURN_MS ? undefined : new Promise((resolve) => setImmediate(resolve)))
}
