/**
 * Orders the writes of a user with the revocation of their token or membership. SERIALIZABLE alone would let a write commit after a revocation that
 * it did not read. docs/decisions/0087.
 */
import { sql } from 'kysely'
import type { Queries } from '../db/db.ts'

/** Namespaces of the advisory locks, their number, and the lock of `serializeRevocations`. */
const LINES = 0x62657270
const BUCKETS = 256
const ENDS = 0x62657271

/** Takes a shared advisory lock on the user until the commit. The row locks decide; this lock keeps a waiting revocation from starving. */
export function sharedUserWriteLock(userColumn: string) {
  return sql<{ held: unknown }>`(select pg_advisory_xact_lock_shared(${lineNumber(sql.ref(userColumn))}) as held)`
}

/** Takes the same lock as `sharedUserWriteLock`, for a write that authenticates its user another way. Call it before you lock the user's rows. */
export async function shareUserWrites(db: Queries, userId: string): Promise<void> {
  if (!db.isTransaction) return
  await sql`select pg_advisory_xact_lock_shared(${lineNumber(sql.val(userId))})`.execute(db)
}

/**
 * Waits for the writes of this user in flight and blocks new ones until the commit. Call it before you revoke a token, remove a membership or lower a
 * role. SQLite runs writes one at a time anyway.
 */
export async function lockUserWrites(db: Queries, userId: string): Promise<void> {
  if (!db.isTransaction) return
  await sql`select pg_advisory_xact_lock(${lineNumber(sql.val(userId))})`.execute(db)
}

/** Runs revocations of access one at a time. Call it before the caller is authenticated. Two users who remove each other would otherwise deadlock. */
export async function serializeRevocations(db: Queries): Promise<void> {
  if (!db.isTransaction) return
  await sql`select pg_advisory_xact_lock(${sql.lit(ENDS)})`.execute(db)
}

function lineNumber(userId: ReturnType<typeof sql.ref>) {
  return sql`${sql.lit(LINES)}, (hashtext(${userId}) & ${sql.lit(BUCKETS - 1)})`
}
