/** What visitors feel and has changed: the rows that triggers write into `edge_change`. docs/decisions/0073. */
import type { Deps, OperatorCtx } from '../../context.ts'
import { RESTORED } from '../backup/copy.ts'
import type { Change } from './change-ring.ts'

const SLICE = 500
/** On PostgreSQL a transaction that noted a change early may commit late; none takes as long as this. */
const LATEST_COMMIT_MS = 60_000
/** Far longer than any instance needs to read them. One that was away for longer reads all hosts anew. */
const KEPT_MS = 60 * 60_000
/** The clocks of instances may differ so much: what is kept is certain only for so much less. */
const CERTAIN_MS = KEPT_MS - 5 * 60_000
/** The most changes of before the start that are read for sites servers. */
const MAX_RECENT = 10_000

/**
 * What changed since it was last asked. On SQLite rows become visible in the order of their stamps; on PostgreSQL one may
 * show up behind later ones, so the last minute is always looked at again, and what was seen is passed over.
 */
export function createChangeLog({ db, clock }: Deps) {
  const overlap = db.engine === 'sqlite' ? 0 : LATEST_COMMIT_MS
  const times = new Map<string, number>()
  let newest = 0

  return {
    /** How much later than its stamp a change may become visible. */
    overlapMs: overlap,
    /** What changed before `begin`, so that a sites server need not take all after each start of this process. */
    recent: () => readRecent(db, overlap, clock.now() - CERTAIN_MS, newest),
    /** What is there now is in what will be read after this. */
    async begin(): Promise<void> {
      const last = await db.read
        .selectFrom('edge_change')
        .select('stamp')
        .orderBy('stamp', 'desc')
        .limit(1)
        .executeTakeFirst()
      newest = last?.stamp ?? 0
    },
    /** The newest stamp that was seen. */
    newest: () => newest,
    /** Slices of changes. A slice that is not dealt with, because reading what it names fails, comes again. */
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

/** Changes, oldest first, up to the newest stamp. `floor`: all with a later stamp are among them. Nobody goes on from before a restore. */
async function readRecent(db: Deps['db'], overlap: number, since: number, newest: number) {
  const rows = await db.read
    .selectFrom('edge_change')
    .selectAll()
    .where('stamp', '>', since)
    .orderBy('stamp', 'desc')
    .orderBy('key', 'desc')
    .limit(MAX_RECENT)
    .execute()
  // Where nothing can come late, nothing is missing behind the newest one either.
  const quiet = overlap === 0 ? Math.min(since, newest) : since
  const complete = rows.length < MAX_RECENT ? quiet : rows.at(-1)!.stamp
  const restored = rows.find(({ key }) => key === RESTORED)?.stamp ?? 0
  return { changes: rows.reverse(), stamp: newest, floor: Math.max(complete, restored) }
}

/** Sweep: notes that everybody has read. The newest stays: on SQLite stamps are counted on from it. */
export async function purgeEdgeChanges(ctx: OperatorCtx, limit: number): Promise<number> {
  const newest = await ctx.db
    .selectFrom('edge_change')
    .select('stamp')
    .orderBy('stamp', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest === undefined) return 0
  const old = ctx.db
    .selectFrom('edge_change')
    .select('key')
    .where('stamp', '<', Math.min(ctx.now - KEPT_MS, newest.stamp))
    .orderBy('stamp')
    .limit(limit)
  const rows = await ctx.db.deleteFrom('edge_change').where('key', 'in', old).returning('key').execute()
  return rows.length
}
