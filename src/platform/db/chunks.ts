import { iterationMs } from '../base/event-loop.ts'
import type { Queries } from './db.ts'

/** Rows per statement: both engines bound the values of a statement, and this size takes milliseconds. */
const SLICE = 100

/** Splits rows for statements with several rows each. */
export function chunks<T>(all: readonly T[]): T[][] {
  const cut: T[][] = []
  for (let at = 0; at < all.length; at += SLICE) cut.push(all.slice(at, at + SLICE))
  return cut
}

/** Groups items, in order, by their total weight and their number. A heavier item is a group of its own. */
export function chunksByWeight<T>(
  all: readonly T[],
  weightOf: (item: T) => number,
  maxWeight: number,
  maxCount = Number.POSITIVE_INFINITY,
): T[][] {
  const groups: T[][] = []
  let total = 0
  for (const item of all) {
    const weight = weightOf(item)
    const last = groups.at(-1)
    total += weight
    if (last === undefined || last.length === maxCount || total > maxWeight) {
      groups.push([item])
      total = weight
    } else last.push(item)
  }
  return groups
}

/** A request yields this often: with the longest single step it stays below 25 ms. */
const TURN_MS = 8

/**
 * Returns a function to await after each step of long work, also within a transaction. It yields once this event-loop iteration has lasted 8 ms. On
 * SQLite other writers still wait for the transaction; readers do not.
 */
export function createYielder(): () => Promise<void> | undefined {
  iterationMs()
  return () => (iterationMs() < TURN_MS ? undefined : new Promise((resolve) => setImmediate(resolve)))
}

/** A range of stamps. `from`: the first one; undefined for all remaining rows. */
type RowSlice = { before: number; from: number | undefined }

/** A step of a change: what is above `after`, up to `end`; undefined: all that is left. */
export type Step = { after: number; end: number | undefined }

/**
 * Changes many rows in steps by their stamps, so that other requests run in between. `endOf`: the stamp of the last row of the step after another
 * stamp; undefined where fewer rows are left.
 */
export async function changeInSteps(
  endOf: (after: number) => Promise<number | undefined>,
  change: (step: Step) => Promise<unknown>,
): Promise<void> {
  const pace = createYielder()
  for (let after = -1, end: number | undefined = -1; end !== undefined; after = end ?? after) {
    end = await endOf(after)
    await change({ after, end })
    await pace()
  }
}

type Walk<T> = {
  before: number
  count: number
  /** The stamp of the last row of the slice that begins below `before`; undefined where fewer rows remain. */
  endOf(before: number): Promise<number | undefined>
  /** Up to `count` matching rows of a slice, newest first. */
  find(slice: RowSlice, count: number): Promise<T[]>
}

/**
 * Finds the newest `count` matching rows where no index helps. On SQLite a statement blocks this process, so it scans slice by slice and other
 * requests run in between. docs/scaling.md: How a search works.
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

/** TABLE Swept tables without dependent rows, with their keys. */
const KEYS = {
  authorization_code: 'hash',
  email_change: 'user_id',
  half_sign_in: 'hash',
  identity_link: 'hash',
  invitation: 'id',
  kept_answer: 'id',
  password_link: 'hash',
  reserved_slug: 'id',
  session: 'hash',
  site_session: 'hash',
  spent_challenge: 'hash',
  token: 'id',
  usage_report: 'server',
} as const

/**
 * Creates the sweep of a table. It deletes up to `limit` rows whose time in `column` was `keptMs` ago, oldest first, and returns
 * their number.
 */
export function expirySweep(table: keyof typeof KEYS, keptMs = 0, column: 'expires_at' | 'created_at' = 'expires_at') {
  return async ({ db, now }: { db: Queries; now: number }, limit: number): Promise<number> => {
    // The type of one table: the statements are the same for each.
    const [of, key, time] = [table, KEYS[table], column] as ['invitation', 'id', 'expires_at']
    const over = db
      .selectFrom(of)
      .select(key)
      .where(time, '<=', now - keptMs)
    const rows = await over.orderBy(time).limit(limit).execute()
    // By a list of keys: without statistics, PostgreSQL would scan the table for a subquery.
    for (const some of chunks(rows.map((row) => row[key]))) await db.deleteFrom(of).where(key, 'in', some).execute()
    return rows.length
  }
}
