/** Which moment of the schedule is due, and which instance makes its backup. docs/backup.md: Scheduled. */
import type { Cron } from 'croner'
import { sql } from 'kysely'
import { BadSetting } from '../../config.ts'
import type { Db, Queries } from '../../platform/db/db.ts'

const MINUTE_MS = 60_000
/** For so long a run belongs to the instance that took it, unless it says that it goes on. */
const HELD_MS = 2 * MINUTE_MS
/** A run that failed is tried again after this, so often. */
const RETRY_MS = 10 * MINUTE_MS
const MAX_TRIES = 3
/** Runs before the newest so many are forgotten. */
const MAX_RUNS = 100

/** `tries`: which try of it this is. Whoever holds a later one writes the outcome. */
export type BackupRun = { dueAt: number; tries: number }

/** Reads the fields of cron, in UTC. Gives the last moment that they name, up to `now`. Throws BadSetting. */
export async function parseSchedule(text: string): Promise<(now: number) => number | undefined> {
  const cron = await openCron(text)
  // The library looks at whole seconds before the one that it is given.
  return (now) => cron.previousRuns(1, new Date(Math.floor(now / 1000) * 1000 + 1000))[0]?.getTime()
}

/** The first moment after `now` that a schedule names; null: there is none. Throws BadSetting. */
export async function nextOfSchedule(text: string, now: number): Promise<number | null> {
  return (await openCron(text)).nextRun(new Date(now))?.getTime() ?? null
}

async function openCron(text: string): Promise<Cron> {
  const { Cron } = await import('croner')
  try {
    const cron = new Cron(text, { timezone: 'UTC', paused: true, mode: '5-part' })
    if (cron.nextRun() === null) throw new Error('it names no moment')
    return cron
  } catch (error) {
    throw new BadSetting(`BERTH_BACKUP_SCHEDULE "${text}" cannot be read: ${(error as Error).message}`)
  }
}

/** Takes the run that is due at a moment; undefined where it was made, or another instance is at it. One statement decides. */
export async function acquireRun(db: Db, dueAt: number, now: number): Promise<BackupRun | undefined> {
  const there = await db.read.selectFrom('backup_run').selectAll().where('due_at', '=', dueAt).executeTakeFirst()
  if (there && (there.ended_at !== null || there.held_until > now)) return undefined
  return db.write(async (tx) => {
    const row = { due_at: dueAt, held_until: now + HELD_MS, began_at: now, tries: 1, ended_at: null, fault: null }
    const taken = await tx
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
    if (taken === undefined) return undefined
    await purgeOldRuns(tx, dueAt)
    return { dueAt, tries: taken.tries }
  })
}

/** Only those before this one: a clock that was once ahead must not make the run of today forgotten. */
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

/** Keeps the run for longer. */
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

/** Writes what came of a run. `fault`: why there is no good backup; the run is then tried again, twice. */
export async function finishRun(db: Db, { dueAt, tries }: BackupRun, now: number, fault: string | null): Promise<void> {
  const isOver = fault === null || tries >= MAX_TRIES
  const end = isOver ? { ended_at: now, fault } : { held_until: now + RETRY_MS, fault }
  await db.write((tx) =>
    tx
      .updateTable('backup_run')
      .set(end)
      .where('due_at', '=', dueAt)
      // If the lease ended meanwhile and another instance took the run, that instance writes the outcome.
      .where('tries', '=', tries)
      .execute(),
  )
}
