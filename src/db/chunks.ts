/** Work on many rows, cut so that neither a statement nor an iteration of the event loop is long. */
import { iterationMs } from '../event-loop.ts'
import type { Queries } from './db.ts'

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

/** TABLE what has a column `expires_at` and nothing that hangs on it, with its key. */
const KEYS = {
  email_change: 'user_id',
  half_sign_in: 'hash',
  identity_link: 'hash',
  invitation: 'id',
  password_link: 'hash',
  reserved_slug: 'id',
  spent_challenge: 'hash',
  token: 'id',
} as const

/** Makes the sweep of a table: it removes what is over, the oldest first, at most `limit` rows. Gives how many. */
export function expiredOf(table: keyof typeof KEYS) {
  return async ({ db, now }: { db: Queries; now: number }, limit: number): Promise<number> => {
    // The type of one of the tables: the statements are the same for each.
    const [of, key] = [table, KEYS[table]] as ['invitation', 'id']
    const over = db.selectFrom(of).select(key).where('expires_at', '<=', now)
    const rows = await over.orderBy('expires_at').limit(limit).execute()
    // By a list of their keys: PostgreSQL without statistics would walk through all for a sub-query.
    for (const some of chunks(rows.map((row) => row[key]))) await db.deleteFrom(of).where(key, 'in', some).execute()
    return rows.length
  }
}
