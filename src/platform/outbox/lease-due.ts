import { sql } from 'kysely'
import type { Db } from '../db/db.ts'
import type { Row } from '../db/schema.ts'

/** TABLE Tables whose rows are leased by `due_at`, with their keys. */
const KEYS = { domain_turn: 'account_id', identity: 'user_id', mail: 'id' } as const

type Lease = { now: number; leaseMs: number; room: number; countsAttempts?: true }

/** Leases up to `room` rows that are due, oldest first, and returns them. An empty queue costs one read and no transaction. */
export async function leaseDue<T extends keyof typeof KEYS>(
  db: Db,
  table: T,
  { now, leaseMs, room, countsAttempts }: Lease,
): Promise<Row<T>[]> {
  // The type of one table: the statements are the same for each.
  const [of, key] = [table, KEYS[table]] as unknown as ['mail', 'id']
  if (room <= 0) return []
  const waiting = db.read.selectFrom(of).select(key).where('due_at', '<=', now).limit(1)
  if ((await waiting.execute()).length === 0) return []
  const rows: unknown = await db.write((tx) => {
    const due = tx.selectFrom(of).select(key).where('due_at', '<=', now).orderBy('due_at').limit(room)
    return tx
      .updateTable(of)
      .set({ due_at: now + leaseMs, ...(countsAttempts && { attempts: sql<number>`attempts + 1` }) })
      .where(key, 'in', due)
      .where('due_at', '<=', now)
      .returningAll()
      .execute()
  })
  return rows as Row<T>[]
}
