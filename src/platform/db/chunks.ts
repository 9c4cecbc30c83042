/** Work on many rows, cut so that neither a statement nor an iteration of the event loop is long. */
import { iterationMs } from '../base/event-loop.ts'
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
export function createYielder(): () => Promise<void> | undefined {
  iterationMs()
  return () => (iterationMs() < TURN_MS ? undefined : new Promise((resolve) => setImmediate(resolve)))
}

/** Places of rows in their list: stamps. `from`: the first that is looked at; undefined for all that are left. */
type RowSlice = { before: number; from: number | undefined }

type Walk<T> = {
  /** Rows are looked for below this stamp. */
  before: number
  /** How many are wanted. */
  count: number
  /** The stamp of the last row of the slice that begins below `before`; undefined where fewer are left. */
  endOf(before: number): Promise<number | undefined>
  /** At most so many rows of a slice that fit, newest first. */
  find(slice: RowSlice, count: number): Promise<T[]>
}

/**
 * Looks for rows that no index finds, and gives the newest that fit, as many as are wanted. On the embedded store a statement runs in this
 * process, so none may read more rows than it says: slice by slice, other requests run in between. docs/scaling.md: How a search works.
 */
export async function walkNewest<T>({ before, count, endOf, find }: Walk<T>): Promise<T[]> {
  const pace = createYielder()
  const found: T[] = []
  for (let slice: RowSlice = { before, from: undefined }; ; slice = { before: slice.from!, from: undefined }) {
    slice.from = await endOf(slice.before)
    found.push(...(await find(slice, count - found.length)))
    if (found.length >= count || slice.from === undefined) return found
    await pace()
  }
}

/** TABLE what has a column `expires_at` and nothing that hangs on it, with its key. */
const KEYS = {
  email_change: 'user_id',
  half_sign_in: 'hash',
  identity_link: 'hash',
  invitation: 'id',
  password_link: 'hash',
  reserved_slug: 'id',
  site_session: 'hash',
  spent_challenge: 'hash',
  token: 'id',
  usage_report: 'server',
} as const

/** Makes the sweep of a table: it removes what is over, the oldest first, at most `limit` rows. Gives how many. */
export function expirySweep(table: keyof typeof KEYS) {
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
