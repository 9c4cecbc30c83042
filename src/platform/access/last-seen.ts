/**
 * When people and tokens were last seen. It is noted in memory, to the hour, and written for all of them once a minute, so that no read is
 * a write. After a year it is forgotten.
 */
import type { Logger } from 'pino'
import { chunks } from '../db/chunks.ts'
import type { Db, Queries } from '../db/db.ts'

const HOUR_MS = 3_600_000
const PERIOD_MS = 60_000
const KEPT_MS = 365 * 24 * HOUR_MS
/** How many are remembered as written. Those beyond it are written once more. */
const KNOWN = 20_000

export type LastSeen = {
  /** Notes that a person or a token was seen. `id`: of the person or the token; `now`: in milliseconds. */
  record(id: string, now: number): void
  /** Gives what is to be written, and takes it as written. `at`: the beginning of the hour, in milliseconds. */
  drain(): { id: string; at: number }[]
}

/** Nobody was seen yet. */
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
  }
}

/** Writes who was seen since the last time. */
export async function writeLastSeen({ db, lastSeen }: { db: Db; lastSeen: LastSeen }): Promise<void> {
  for (const rows of chunks(lastSeen.drain())) {
    await db.write((tx) =>
      tx
        .insertInto('seen')
        .values(rows)
        .onConflict((conflict) => conflict.column('id').doUpdateSet((eb) => ({ at: eb.ref('excluded.at') })))
        .execute(),
    )
  }
}

/** Sweep: forgets when people and tokens were last seen, after a year. Lists then show no such moment for them. */
export async function purgeLastSeen(ctx: { db: Queries; now: number }, limit: number): Promise<number> {
  const rows = await ctx.db
    .selectFrom('seen')
    .select('id')
    .where('at', '<', ctx.now - KEPT_MS)
    .limit(limit)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await ctx.db.deleteFrom('seen').where('id', 'in', ids).execute()
  return ids.length
}

/** Starts to write, once a minute; every instance writes what it saw itself. The function that it gives stops it. */
export function startLastSeen(deps: { db: Db; lastSeen: LastSeen; log: Logger }): () => Promise<void> {
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running
      .then(() => writeLastSeen(deps))
      .catch((error) => deps.log.warn({ err: error }, 'who was seen could not be written down'))
  }, PERIOD_MS).unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}

/** Who made a request: `installationId` is null of a person. */
type Seen = { actor: { tokenId: string | null }; userId: string; installationId: string | null }

/** Notes that the token and the person of a request were seen at `now`, in ms; an integration is no person. */
export function recordLastSeen(lastSeen: LastSeen, { actor, userId, installationId }: Seen, now: number): void {
  if (actor.tokenId !== null) lastSeen.record(actor.tokenId, now)
  if (installationId === null) lastSeen.record(userId, now)
}
