/** Changes that affect visitors, written by triggers into `edge_change`. docs/decisions/0073. */
import type { Deps, OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import { RESTORED } from '../backup/copy.ts'
import type { Change } from './change-ring.ts'

const SLICE = 500
/** On PostgreSQL a transaction may commit later than its stamp; none takes this long. */
const LATEST_COMMIT_MS = 60_000
/** Far longer than instances need to read them. An instance that was disconnected for longer reloads all hosts. */
const RETENTION_MS = 60 * 60_000
/** Clocks of instances may differ by this much, so retention is certain only for less. */
const CERTAIN_MS = RETENTION_MS - 5 * 60_000
/** Limit of earlier changes that are read for sites servers at the start. */
const MAX_RECENT = 10_000

/**
 * Opens a reader of changes since its last call. On PostgreSQL a change may appear behind later ones, so it rereads the last minute and skips changes
 * that it has returned.
 */
export function createChangeLog({ db, clock }: Deps) {
  const overlap = db.engine === 'sqlite' ? 0 : LATEST_COMMIT_MS
  const times = new Map<string, number>()
  let newest = 0

  return {
    /** Maximum delay between a stamp and its visibility. */
    overlapMs: overlap,
    /** Changes before `begin`, so that sites servers need no full reload after a restart. */
    recent: () => readRecent(db, overlap, clock.now() - CERTAIN_MS, newest),
    /** Changes from now on are read after this. */
    async begin(): Promise<void> {
      newest = (await newestStamp(db.read)) ?? 0
    },
    newest: () => newest,
    /** Yields slices of changes. A slice comes again if processing it failed. */
    async *next(): AsyncGenerator<Change[]> {
      const from = newest - overlap
      let at = { stamp: from, key: '' }
      for (;;) {
        const { stamp, key } = at
        const rows = await db.read
          .selectFrom('edge_change')
          .selectAll()
          .where(({ eb, refTuple, tuple }) => eb(refTuple('stamp', 'key'), '>', tuple(stamp, key)))
          .orderBy('stamp')
          .orderBy('key')
          .limit(SLICE)
          .execute()
        const fresh = rows.filter((row) => times.get(row.key) !== row.stamp)
        if (fresh.length > 0) yield fresh
        for (const row of fresh) times.set(row.key, row.stamp)
        const last = rows.at(-1)
        if (last !== undefined) {
          at = last
          newest = Math.max(newest, last.stamp)
        }
        if (rows.length < SLICE) break
      }
      for (const [key, stamp] of times) if (stamp < newest - overlap) times.delete(key)
    },
  }
}

async function newestStamp(db: Queries): Promise<number | undefined> {
  const stamps = db.selectFrom('edge_change').select('stamp').orderBy('stamp', 'desc')
  return (await stamps.limit(1).executeTakeFirst())?.stamp
}

/** Changes, oldest first, up to the newest stamp. `floor`: all later changes are included. Versions from before a restore are not continued. */
async function readRecent(db: Deps['db'], overlap: number, since: number, newest: number) {
  const rows = await db.read
    .selectFrom('edge_change')
    .selectAll()
    .where('stamp', '>', since)
    .orderBy('stamp', 'desc')
    .orderBy('key', 'desc')
    .limit(MAX_RECENT)
    .execute()
  // Without late commits, nothing is missing after the newest one either.
  const quiet = overlap === 0 ? Math.min(since, newest) : since
  const complete = rows.length < MAX_RECENT ? quiet : rows.at(-1)!.stamp
  const restored = rows.find(({ key }) => key === RESTORED)?.stamp ?? 0
  return { changes: rows.reverse(), stamp: newest, floor: Math.max(complete, restored) }
}

/** Sweep: deletes changes that all instances have read. The newest stays, because SQLite continues counting from its stamp. */
export async function purgeEdgeChanges(ctx: OperatorCtx, limit: number): Promise<number> {
  const newest = await newestStamp(ctx.db)
  if (newest === undefined) return 0
  const old = ctx.db
    .selectFrom('edge_change')
    .select('key')
    .where('stamp', '<', Math.min(ctx.now - RETENTION_MS, newest))
    .orderBy('stamp')
    .limit(limit)
  const rows = await ctx.db.deleteFrom('edge_change').where('key', 'in', old).returning('key').execute()
  return rows.length
}
