/**
 * The writes of a person that are under way when their token, or their place in a team, ends. SERIALIZABLE alone lets one that
 * read them before commit after. docs/decisions/0087; as for installations (installation.ts), and for the same reasons.
 */
import { sql } from 'kysely'
import type { Queries } from '../db/db.ts'

/** Marks these locks among others in the database; how many lines there are; and the lock of `serializeRevocations`. */
const LINES = 0x62657270
const BUCKETS = 256
const ENDS = 0x62657271

/**
 * A query that stands in the line of a person until the commit, among others who write. The rows that are held decide; the
 * line only lets who waits for them have its turn.
 */
export function sharedUserWriteLock(userColumn: string) {
  return sql<{ held: unknown }>`(select pg_advisory_xact_lock_shared(${lineNumber(sql.ref(userColumn))}) as held)`
}

/**
 * Waits until no write of this person is under way, and lets none begin before the commit. Say it before you end a token or a
 * membership of theirs, or lower a role. On SQLite writes run one after another anyway.
 */
export async function lockUserWrites(db: Queries, userId: string): Promise<void> {
  if (!db.isTransaction) return
  await sql`select pg_advisory_xact_lock(${lineNumber(sql.val(userId))})`.execute(db)
}

/**
 * Makes requests that end access of people run one after another. Call it before the caller is let in. Two people who remove each other, or a
 * token that ends itself twice at once, would otherwise wait for each other.
 */
export async function serializeRevocations(db: Queries): Promise<void> {
  if (!db.isTransaction) return
  await sql`select pg_advisory_xact_lock(${sql.lit(ENDS)})`.execute(db)
}

function lineNumber(userId: ReturnType<typeof sql.ref>) {
  return sql`${sql.lit(LINES)}, (hashtext(${userId}) & ${sql.lit(BUCKETS - 1)})`
}
