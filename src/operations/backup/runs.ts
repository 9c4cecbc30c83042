/** Finds the due run of the schedule, and the instance that makes it. docs/backup.md: Scheduled backups. */
import type { Cron } from 'croner'
import { sql } from 'kysely'
import { BadSetting } from '../../config.ts'
import type { Db, Queries } from '../../platform/db/db.ts'

const MINUTE_MS = 60_000
/** Lease of a run; the instance renews it while it works. */
const HELD_MS = 2 * MINUTE_MS
/** Delay before a failed run is retried, and the number of tries. */
const RETRY_MS = 10 * MINUTE_MS
const MAX_TRIES = 3
/** Older runs are deleted. */
const MAX_RUNS = 100

/** `tries`: number of this try. Only the holder of the latest one writes the outcome. */
export type BackupRun = { dueAt: number; tries: number }

/** Parses cron fields, in UTC. Returns a function that finds the last scheduled time up to `now`. Throws BadSetting. */
export async function parseSchedule(text: string): Promise<(now: number) => number | undefined> {
  const cron = await openCron(text)
  // The library searches whole seconds before the given one.
  return (now) => cron.previousRuns(1, new Date(Math.floor(now / 1000) * 1000 + 1000))[0]?.getTime()
}

/** Returns the next scheduled time after `now`; null when none exists. Throws BadSetting. */
export async function nextOfSchedule(text: string, now: number): Promise<number | null> {
  return (await openCron(text)).nextRun(new Date(now))?.getTime() ?? null
}

async function openCron(text: string): Promise<Cron> {
  const { Cron } = await import('croner')
  try {
    const cron = new Cron(text, { timezone: 'UTC', paused: true, mode: '5-part' })
    if (cron.nextRun() === null) throw new Error('it names no time')
    return cron
  } catch (error) {
    throw new BadSetting(`BERTH_BACKUP_SCHEDULE "${text}" cannot be read: ${(error as Error).message}`)
  }
}

const LOST = 'The process ended while it made this backup. See its log, and the memory of the machine.'

/** Acquires the run of a scheduled time. Undefined when it is over or another instance holds it. One statement decides. */
export async function acquireRun(db: Db, dueAt: number, now: number): Promise<BackupRun | undefined> {
  const there = await db.read.selectFrom('backup_run').selectAll().where('due_at', '=', dueAt).executeTakeFirst()
  if (there && (there.ended_at !== null || there.held_until > now)) return undefined
  if (there && there.tries >= MAX_TRIES) {
    // Its process died each time, and may do so each time.
    await finishRun(db, { dueAt, tries: there.tries }, now, { isMade: false, fault: LOST })
    return undefined
  }
  return db.write(async (tx) => {
    const row = { due_at: dueAt, held_until: now + HELD_MS, began_at: now, tries: 1, ended_at: null, fault: null }
    const claimed = await tx
      .insertInto('backup_run')
      .values(row)
      .onConflict((conflict) =>
        conflict
          .column('due_at')
          .doUpdateSet({ held_until: row.held_until, began_at: now, tries: sql<number>`backup_run.tries + 1` })
          .where('backup_run.ended_at', 'is', null)
          .where('backup_run.held_until', '<=', now),
      )
      .returning('tries')
      .executeTakeFirst()
    if (claimed === undefined) return undefined
    await purgeOldRuns(tx, dueAt)
    return { dueAt, tries: claimed.tries }
  })
}

/** Only earlier ones, so that a clock that was once ahead does not delete today's run. */
async function purgeOldRuns(tx: Queries, dueAt: number): Promise<void> {
  const old = tx
    .selectFrom('backup_run')
    .select('due_at')
    .where('due_at', '<', dueAt)
    .orderBy('due_at', 'desc')
    .limit(1)
    .offset(sql.lit(MAX_RUNS))
  await tx.deleteFrom('backup_run').where('due_at', '<=', old).execute()
}

/** Renews the lease of the run. */
export async function renewRun(db: Db, { dueAt, tries }: BackupRun, now: number): Promise<void> {
  await db.write((tx) =>
    tx
      .updateTable('backup_run')
      .set({ held_until: now + HELD_MS })
      .where('due_at', '=', dueAt)
      .where('tries', '=', tries)
      .where('ended_at', 'is', null)
      .execute(),
  )
}

/** Releases a run that a stop interrupted, which is not a try: another instance, or the next start, acquires it at once. */
export async function releaseRun(db: Db, { dueAt, tries }: BackupRun, now: number): Promise<void> {
  await db.write((tx) =>
    tx
      .updateTable('backup_run')
      .set({ held_until: now, tries: tries - 1 })
      .where('due_at', '=', dueAt)
      .where('tries', '=', tries)
      .execute(),
  )
}

/** `isMade`: the backup is there and intact. `fault`: the error; null: all went well. */
export type RunOutcome = { isMade: boolean; fault: string | null }

/** Records the outcome of a run. Without a backup it is tried twice more. */
export async function finishRun(
  db: Db,
  { dueAt, tries }: BackupRun,
  now: number,
  { isMade, fault }: RunOutcome,
): Promise<void> {
  const isOver = isMade || tries >= MAX_TRIES
  const end = isOver ? { ended_at: now, fault } : { held_until: now + RETRY_MS, fault }
  await db.write((tx) =>
    tx
      .updateTable('backup_run')
      .set(end)
      .where('due_at', '=', dueAt)
      // If the lease expired and another instance acquired the run, that instance writes the outcome.
      .where('tries', '=', tries)
      .execute(),
  )
}
