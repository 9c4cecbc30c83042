/** Removes unreferenced outputs and files: surveys, plans (plan.ts) and removes, rows before files. docs/deploying-sites.md: Collection. */
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { createClockMonitor } from '../../platform/base/clock-monitor.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import { releaseRoom } from '../../projects/deployments/outputs.ts'
import {
  type Found,
  KEPT,
  type Plan,
  planCollection,
  removableBefore,
  type StoredBlob,
  type StoredOutput,
  type Stray,
} from './plan.ts'
import { lookAtBlobs, lookAtFiles, lookAtOutputs, oldestBackup } from './survey.ts'
import { roomFor } from './usage.ts'

const LOOK_MS = 60_000
const EVERY_MS = 6 * 3_600_000
const NAME = 'unused-files'
/** Files that an output releases per transaction, so that others can write in between. */
const RELEASED = 500

/** Collects garbage as of `now` and returns the number of removed files. Safe on several instances. `atOnce`: releases per transaction. */
export async function collectFiles(deps: Deps, now: number, atOnce = RELEASED): Promise<number> {
  const files = await lookAtFiles(deps)
  if (files === undefined) return 0
  const found: Found = { ...files, now, oldestBackup: await oldestBackup(deps), outputs: [], blobs: [] }
  if (!(await collectOutputs(deps, found, atOnce))) return 0
  let removed = await deps.files.removeCutShort(now - KEPT.cutShortMs)
  for (let after = 0, isFirst = true; ; isFirst = false) {
    const { blobs, last } = await lookAtBlobs(deps.db.read, after, removableBefore(found))
    const plan = planOrLog(deps, { ...found, blobs, strays: isFirst ? found.strays : [] })
    if (plan === undefined) return removed
    removed += await carryOut(deps, plan, found)
    if (last === undefined || deps.shutdownSignal.aborted) return removed
    after = last
  }
}

/** Removes outputs first, which makes their files idle. Returns whether the survey found no error. */
async function collectOutputs(deps: Deps, found: Found, atOnce: number): Promise<boolean> {
  for (let after = 0; ; ) {
    const { outputs, last } = await lookAtOutputs(deps.db.read, after, found.now)
    const plan = planOrLog(deps, { ...found, outputs, strays: [] })
    if (plan === undefined) return false
    for (const output of plan.outputs) if (!deps.shutdownSignal.aborted) await removeOutput(deps, output, atOnce)
    if (last === undefined || deps.shutdownSignal.aborted) return true
    after = last
  }
}

function planOrLog({ log }: Deps, found: Found): Plan | undefined {
  const plan = planCollection(found)
  if (plan.fault === undefined) return plan
  log.error({ timer: NAME, reason: plan.fault }, 'files are not collected; nothing was removed')
  return undefined
}

/** Clears the digest of an output first, unless a deployment took it, so that no deployment can reuse it. The next collection resumes after a crash. */
async function removeOutput({ db, shutdownSignal }: Deps, { id }: StoredOutput, atOnce: number): Promise<void> {
  const { numUpdatedRows } = await db.write((tx) =>
    tx
      .updateTable('output')
      .set({ sha256: `removed ${id}` })
      .where('id', '=', id)
      .where('refs', '=', 0)
      .executeTakeFirst(),
  )
  if (numUpdatedRows === 0n) return
  while (!shutdownSignal.aborted && (await db.write((tx) => releaseFiles(tx, id, atOnce))));
}

/** Releases some files of an output and deletes it when none is left. Returns whether more remain. */
async function releaseFiles(tx: Queries, id: number, atOnce: number): Promise<boolean> {
  const held = await tx
    .selectFrom('output_blob')
    .select('blob_id')
    .where('output_id', '=', id)
    .orderBy('blob_id')
    .limit(atOnce)
    .execute()
  const ids = held.map((row) => row.blob_id)
  if (ids.length > 0) {
    await tx.updateTable('blob').set({ refs: sql<number>`refs - 1` }).where('id', 'in', ids).execute()
    await tx.deleteFrom('output_blob').where('output_id', '=', id).where('blob_id', 'in', ids).execute()
  }
  if (ids.length === atOnce) return true
  await tx.deleteFrom('output').where('id', '=', id).execute()
  return false
}

/** Carries out a plan. Each statement repeats its condition, since a file may have been uploaded meanwhile. */
async function carryOut(deps: Deps, { condemn, remove, strays }: Plan, { now, ...found }: Found): Promise<number> {
  for (const some of chunks(condemn)) await condemnBlobs(deps, some, now)
  const unused: Pick<Stray, 'accountId' | 'sha256'>[] = [...strays]
  for (const some of chunks(remove)) unused.push(...(await removeRows(deps, some, removableBefore({ now, ...found }))))
  // Files that were uploaded again stay, since they have or get a row.
  for (const { accountId, sha256 } of unused) await deps.files.remove(accountId, sha256, now - KEPT.strayMs)
  return unused.length
}

async function condemnBlobs({ db }: Deps, blobs: readonly StoredBlob[], now: number): Promise<void> {
  const ids = blobs.map(({ id }) => id)
  await db.write((tx) =>
    tx
      .updateTable('blob')
      .set({ condemned_at: now })
      .where('id', 'in', ids)
      .where('refs', '=', 0)
      .where('condemned_at', 'is', null)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('upload')
              .select('sha1')
              .whereRef('upload.blob_id', '=', 'blob.id')
              .where('touched_at', '>', now - KEPT.unusedMs),
          ),
        ),
      )
      .execute(),
  )
}

/** Deletes and returns rows of files that were condemned before this time. */
function removeRows({ db }: Deps, blobs: readonly StoredBlob[], before: number) {
  return db.write(async (tx) => {
    const rows = await tx
      .deleteFrom('blob')
      .where(
        'id',
        'in',
        blobs.map(({ id }) => id),
      )
      .where('refs', '=', 0)
      .where('condemned_at', '<', before)
      .returning(['id', 'account_id', 'sha256', 'size'])
      .execute()
    if (rows.length === 0) return []
    await tx
      .deleteFrom('upload')
      .where(
        'blob_id',
        'in',
        rows.map(({ id }) => id),
      )
      .execute()
    for (const [accountId, own] of Map.groupBy(rows, (row) => row.account_id)) {
      const bytes = own.reduce((sum, { size }) => sum + roomFor(size), 0)
      await releaseRoom(tx, accountId, bytes)
    }
    return rows.map((row) => ({ accountId: row.account_id, sha256: row.sha256 }))
  })
}

/** Starts collecting every six hours, first soon after startup, unless the clock is suspect. Returns a stop function. */
export function startCollection(deps: Deps): () => Promise<void> {
  const watch = createClockMonitor()
  watch(deps.clock.now(), performance.now())
  let running: Promise<unknown> | undefined
  let nextAt = 0
  const poll = () => {
    const [now, passed] = [deps.clock.now(), performance.now()]
    const { isSuspect } = watch(now, passed)
    if (isSuspect || running !== undefined || passed < nextAt) return
    nextAt = passed + EVERY_MS
    running = collectFiles(deps, now)
      .catch((error) => deps.log.warn({ err: error, timer: NAME }, 'cannot collect files; trying again later'))
      .finally(() => {
        running = undefined
      })
  }
  const timer = setInterval(poll, LOOK_MS)
  return async () => {
    clearInterval(timer)
    await running
  }
}
