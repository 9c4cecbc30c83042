/** Records of backups: when and where they were made, and the last check of each. docs/backup.md: Monitoring. */
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'

/** Older rows are deleted. */
const MOST = 1000
/** A message, not the complete response of a server. */
const MAX_FAULT = 2000

type Made = Pick<Row<'backup'>, 'place' | 'name' | 'made_by' | 'begun_at' | 'bytes' | 'sha256'>
/** `fault`: the error; null when intact and its values decrypt. */
export type BackupCheckResult = { at: number; fault: string | null }

/** Records a backup. */
export async function recordBackup(tx: Queries, made: Made): Promise<void> {
  const row = { ...made, verified_at: null, fault: null }
  await tx
    .insertInto('backup')
    .values(row)
    .onConflict((conflict) => conflict.columns(['place', 'name']).doUpdateSet(row))
    .execute()
  await deleteOldest(tx)
}

/** Records the result of a check, also of a backup without a record. */
export async function recordVerification(
  tx: Queries,
  backup: Omit<Made, 'made_by'>,
  { at, fault }: BackupCheckResult,
): Promise<void> {
  const found = fault === null ? { verified_at: at, fault: null } : { fault: fault.slice(0, MAX_FAULT) }
  await tx
    .insertInto('backup')
    .values({ verified_at: null, made_by: 'command', ...backup, ...found })
    .onConflict((conflict) => conflict.columns(['place', 'name']).doUpdateSet(found))
    .execute()
  await deleteOldest(tx)
}

async function deleteOldest(tx: Queries): Promise<void> {
  const old = tx.selectFrom('backup').select('begun_at').orderBy('begun_at', 'desc').limit(1).offset(sql.lit(MOST))
  await tx.deleteFrom('backup').where('begun_at', '<=', old).execute()
}

/** Lists the newest recorded backups, at most `limit`. */
export function listRecordedBackups(db: Queries, limit: number): Promise<Row<'backup'>[]> {
  return db.selectFrom('backup').selectAll().orderBy('begun_at', 'desc').limit(limit).execute()
}

type Wanted = { places: readonly string[]; place?: string | undefined; name?: string | undefined }

/** Finds the newest recorded backup in one of the places, filtered by place and name if given. */
export function findRecordedBackup(db: Queries, { places, place, name }: Wanted): Promise<Row<'backup'> | undefined> {
  let recorded = db.selectFrom('backup').selectAll().where('place', 'in', places)
  if (place !== undefined) recorded = recorded.where('place', '=', place)
  if (name !== undefined) recorded = recorded.where('name', '=', name)
  return recorded.orderBy('begun_at', 'desc').limit(1).executeTakeFirst()
}

/** Lists the scheduled backups of a place. */
export function listScheduledBackups(db: Queries, place: string): Promise<Row<'backup'>[]> {
  return db.selectFrom('backup').selectAll().where('place', '=', place).where('made_by', '=', 'schedule').execute()
}

/** Deletes the record of a backup that does not exist any more. That of a scheduled one stays: it shows that a disk is not mounted. */
export async function deleteMissingRecord(tx: Queries, { place, name }: Pick<Made, 'place' | 'name'>): Promise<void> {
  const row = tx.deleteFrom('backup').where('place', '=', place).where('name', '=', name)
  await row.where('made_by', '!=', 'schedule').execute()
}

/** Deletes the records of backups that no longer exist in their place. */
export async function deleteBackupRecords(tx: Queries, place: string, names: readonly string[]): Promise<void> {
  await tx.deleteFrom('backup').where('place', '=', place).where('name', 'in', names).execute()
}

export type BackupStatus = {
  /** Start of the newest backup without a failed check, in ms; null when none exists. */
  lastGood: number | null
  /** Start of the newest backup that a check found intact. */
  lastVerified: number | null
  /** Number of backups that failed their last check. */
  damaged: number
  /** Error of the last scheduled backup; null when it succeeded or never ran. */
  failed: string | null
}

/** Reads the state of backups for doctor and metrics. With a bucket as destination, only backups in a bucket count as good. docs/backup.md: Monitoring. */
export async function readBackupStatus(db: Queries, { backups }: Pick<Config, 'backups'>): Promise<BackupStatus> {
  const rows = await db.selectFrom('backup').select(['place', 'begun_at', 'verified_at', 'fault']).execute()
  const run = await db
    .selectFrom('backup_run')
    .select('fault')
    // Excludes runs in progress.
    .where((eb) => eb.or([eb('ended_at', 'is not', null), eb('fault', 'is not', null)]))
    .orderBy('began_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  const whole = rows.filter(({ fault }) => fault === null)
  const good = whole.filter(({ place }) => 'folder' in backups.to || place.startsWith('s3://'))
  const newest = (some: typeof rows) =>
    some.reduce<number | null>((most, row) => Math.max(most ?? 0, row.begun_at), null)
  return {
    lastGood: newest(good),
    lastVerified: newest(good.filter((row) => row.verified_at !== null)),
    damaged: rows.length - whole.length,
    failed: run?.fault ?? null,
  }
}
