/** Backups by BERTH_BACKUP_SCHEDULE: one instance makes each, verifies it and prunes old ones. docs/backup.md: Scheduled backups. */
import { basename } from 'node:path'
import type { Deps } from '../../context.ts'
import { describeError } from '../../platform/adapters/file-errors.ts'
import { VERSION } from '../../platform/base/version.ts'
import { createBackup } from './backup.ts'
import { type BackupDestination, openBackupDestination } from './destination.ts'
import { deleteBackupRecords, listScheduledBackups, recordBackup, recordVerification } from './records.ts'
import { backupsToPrune } from './retention.ts'
import { acquireRun, type BackupRun, finishRun, parseSchedule, type RunOutcome, releaseRun, renewRun } from './runs.ts'
import { BadBackup, verifyBackup } from './verify.ts'

const LOOK_MS = 10_000
const HOLD_MS = 30_000
const MAX_FAULT = 2000
const NEVER = new AbortController().signal

/** Makes the backup due at `now`, unless it was made. Returns the number made. */
export async function runDueBackup(deps: Deps, now: number, stop: AbortSignal = NEVER): Promise<number> {
  const { schedule } = deps.config.backups
  const dueAt = schedule && (await parseSchedule(schedule))(now)
  const run = dueAt ? await acquireRun(deps.db, dueAt, now) : undefined
  if (run === undefined) return 0
  const passedMs = createPassed()
  const hold = setInterval(() => void renewRun(deps.db, run, now + passedMs()).catch(() => {}), HOLD_MS)
  const outcome = await tryOnce(deps, stop)
  clearInterval(hold)
  if (!outcome.isMade && stop.aborted) {
    await releaseRun(deps.db, run, now + passedMs())
    deps.log.info('a stop interrupted a scheduled backup; it is made by another instance, or at the next start')
    return 0
  }
  await finishRun(deps.db, run, now + passedMs(), outcome)
  tell(deps, run, outcome)
  return outcome.isMade ? 1 : 0
}

/** A backup that is there is not made again because old ones could not be removed. */
async function tryOnce(deps: Deps, stop: AbortSignal): Promise<RunOutcome> {
  let isMade = false
  try {
    const { place, name } = await createAndCheck(deps, stop)
    isMade = true
    await removeOld(deps, place, name, stop)
    return { isMade, fault: null }
  } catch (error) {
    const fault = describeError(error)
    if (!isMade) return { isMade, fault: fault.slice(0, MAX_FAULT) }
    return { isMade, fault: stop.aborted ? null : `old ones cannot be removed: ${fault}`.slice(0, MAX_FAULT) }
  }
}

/** Measures elapsed time. */
function createPassed(): () => number {
  const began = performance.now()
  return () => Math.round(performance.now() - began)
}

function tell({ log }: Deps, { dueAt, tries }: BackupRun, { isMade, fault }: RunOutcome): void {
  const fields = { dueAt: new Date(dueAt).toISOString(), tries }
  if (isMade) log.info(fields, 'a scheduled backup was made and is intact')
  if (isMade && fault !== null) log.warn({ ...fields, reason: fault }, 'after a scheduled backup, old ones stay')
  if (!isMade) log.warn({ ...fields, reason: fault }, 'a scheduled backup could not be made, or is not intact')
}

/** Checks every 10 s for a due backup. Returns a function that stops it and waits for a backup in progress. */
export function startScheduledBackups(deps: Deps): () => Promise<void> {
  if (deps.config.backups.schedule === undefined) return async () => {}
  const stop = new AbortController()
  let running = Promise.resolve()
  let isRunning = false
  const check = () => {
    if (isRunning) return
    isRunning = true
    running = runDueBackup(deps, deps.clock.now(), stop.signal)
      .then(
        () => {},
        (error) => deps.log.warn({ err: error }, 'could not read whether a backup is due; retrying in 10 s'),
      )
      .finally(() => {
        isRunning = false
      })
  }
  const timer = setInterval(check, LOOK_MS)
  return async () => {
    clearInterval(timer)
    stop.abort()
    await running
  }
}

/** Returns where the backup is, and its name. Throws where it could not be made, or is not intact. */
async function createAndCheck(deps: Deps, stop: AbortSignal): Promise<{ place: BackupDestination; name: string }> {
  const { config, db, clock, log } = deps
  const place = await openBackupDestination(config)
  if (place.isMounted) await mustHoldOurs(deps, place, stop)
  const options = { version: VERSION, withKeys: false }
  const made = await place.store(
    (directory) => createBackup(config, { to: `${directory}/`, ...options }, () => {}),
    stop,
  )
  const { leftOut } = made
  if (leftOut.length > 0)
    log.warn({ leftOut }, 'tables of another program are in the schema of Berth; no backup has them')
  const { begunAt, bytes, sha256 } = made.manifest
  const backup = { place: place.name, name: basename(made.file), begun_at: Date.parse(begunAt), bytes, sha256 }
  await db.write((tx) => recordBackup(tx, { ...backup, made_by: 'schedule' }))
  try {
    await place.read(backup.name, (file) => verifyBackup(config, file, () => {}), stop)
  } catch (error) {
    if (error instanceof BadBackup)
      await db.write((tx) => recordVerification(tx, backup, { at: clock.now(), fault: error.message }))
    throw error
  }
  await db.write((tx) => recordVerification(tx, backup, { at: clock.now(), fault: null }))
  return { place, name: backup.name }
}

/**
 * Throws when scheduled backups are recorded here and none exists: the disk is not mounted, and a backup would fill another one. Unrecorded backups
 * with a newer name also count, because a restored database does not know them. docs/backup.md: Unmounted disk.
 */
async function mustHoldOurs({ db }: Deps, place: BackupDestination, stop: AbortSignal): Promise<void> {
  const recorded = (await listScheduledBackups(db.read, place.name)).map(({ name }) => name).sort()
  const newest = recorded.at(-1)
  if (newest === undefined) return
  const names = await place.list(stop)
  if (names.some((name) => recorded.includes(name) || (name.startsWith('berth-') && name > newest))) return
  throw new Error(
    `${place.name} holds none of the backups that were made there: mount its disk. To start over, set BERTH_BACKUP_TO to another directory`,
  )
}

/**
 * Deletes only scheduled backups of this database. A missing file loses its record only if another backup from before this run exists: an empty
 * directory may be unmounted. `made`: the backup of this run.
 */
async function removeOld(
  { config, db }: Deps,
  place: BackupDestination,
  made: string,
  stop: AbortSignal,
): Promise<void> {
  const there = new Set(await place.list(stop))
  const rows = await listScheduledBackups(db.read, place.name)
  const isProven = rows.some(({ name }) => name !== made && there.has(name))
  const missing = isProven ? rows.filter((row) => !there.has(row.name)).map(({ name }) => name) : []
  const remaining = rows
    .filter((row) => there.has(row.name))
    .map((row) => ({ name: row.name, begunAt: row.begun_at, whole: row.verified_at !== null && row.fault === null }))
  const removed = backupsToPrune(remaining, config.backups.keep)
  for (const name of removed) await place.remove(name, stop)
  if (missing.length + removed.length > 0)
    await db.write((tx) => deleteBackupRecords(tx, place.name, [...missing, ...removed]))
}
