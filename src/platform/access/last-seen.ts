/** Times when users and tokens were last seen, to the hour. They are buffered and written once a minute, so that reads stay reads. Purged after a year. */
import { chunks } from '../db/chunks.ts'
import type { Db, Queries } from '../db/db.ts'

const HOUR_MS = 3_600_000
/** How often every instance writes its own entries. */
export const LAST_SEEN_MS = 60_000
const RETENTION_MS = 365 * 24 * HOUR_MS
/** Written entries to cache. Entries beyond it are written a second time. */
const KNOWN = 20_000

export type LastSeen = {
  /** Records that a user or token was seen. `id`: of the user or token; `now`: in ms. */
  record(id: string, now: number): void
  /** Returns the entries to write and marks them as written. `at`: start of the hour, in ms. */
  drain(): { id: string; at: number }[]
  /** Takes entries back that could not be written. */
  restore(rows: readonly { id: string; at: number }[]): void
}

/** Creates an empty buffer. */
export function createLastSeen(): LastSeen {
  let stored = new Map<string, number>()
  let pending = new Map<string, number>()
  return {
    record(id, now) {
      const at = now - (now % HOUR_MS)
      if (stored.get(id) === at) return
      if (stored.size >= KNOWN) stored = new Map()
      stored.set(id, at)
      if (pending.size < KNOWN) pending.set(id, at)
    },
    drain() {
      const rows = [...pending].map(([id, at]) => ({ id, at }))
      pending = new Map()
      return rows
    },
    restore(rows) {
      for (const { id, at } of rows) if (pending.size < KNOWN && !pending.has(id)) pending.set(id, at)
    },
  }
}

/** Writes the buffered entries, or throws and keeps them. A later hour of another instance stays. */
export async function writeLastSeen({ db, lastSeen }: { db: Db; lastSeen: LastSeen }): Promise<void> {
  const all = lastSeen.drain()
  try {
    for (const rows of chunks(all)) await db.write((tx) => upsert(tx, rows))
  } catch (error) {
    lastSeen.restore(all)
    throw error
  }
}

async function upsert(db: Queries, rows: { id: string; at: number }[]): Promise<void> {
  await db
    .insertInto('seen')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((eb) => ({ at: eb.ref('excluded.at') }))
        .whereRef('seen.at', '<', 'excluded.at'),
    )
    .execute()
}

/** Sweep: purges last-seen times older than a year. Lists then show no time for them. */
export async function purgeLastSeen(ctx: { db: Queries; now: number }, limit: number): Promise<number> {
  const rows = await ctx.db
    .selectFrom('seen')
    .select('id')
    .where('at', '<', ctx.now - RETENTION_MS)
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await ctx.db.deleteFrom('seen').where('id', 'in', ids).execute()
  return ids.length
}

/** `installationId`: null for a user. */
type Seen = { actor: { tokenId: string | null }; userId: string; installationId: string | null }

/** Records the token and the user of a request as seen at `now`, in ms. Integrations have no user to record. */
export function recordLastSeen(lastSeen: LastSeen, { actor, userId, installationId }: Seen, now: number): void {
  if (actor.tokenId !== null) lastSeen.record(actor.tokenId, now)
  if (installationId === null) lastSeen.record(userId, now)
}
