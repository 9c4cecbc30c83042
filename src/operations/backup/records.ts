/** What the store knows of its backups: which were made, where they lie, and what the last check of each found. docs/backup.md: Watched. */
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'

/** The oldest rows beyond so many are forgotten. */
const MOST = 1000
/** A sentence, and not the whole of what a server answered. */
const MAX_FAULT = 2000

type Made = Pick<Row<'backup'>, 'place' | 'name' | 'made_by' | 'begun_at' | 'bytes' | 'sha256'>
/** `fault`: what is wrong; null when it is whole and its values open. */
export type BackupCheckResult = { at: number; fault: string | null }

/** Notes a backup that was made. */
export async function recordBackup(tx: Queries, made: Made): Promise<void> {
  const row = { ...made, verified_at: null, fault: null }
  await tx
    .insertInto('backup')
    .values(row)
    .onConflict((conflict) => conflict.columns(['place', 'name']).doUpdateSet(row))
    .execute()
  await deleteOldest(tx)
}

/** Notes what a check of a backup found, also of one that this store did not know. */
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

/** The newest backups that are known, at most `limit`. */
export function listRecordedBackups(db: Queries, limit: number): Promise<Row<'backup'>[]> {
  return db.selectFrom('backup').selectAll().orderBy('begun_at', 'desc').limit(limit).execute()
}

type Wanted = { places: readonly string[]; place?: string | undefined; name?: string | undefined }

/** The newest backup that lies in one of the places, and has this place and this name where they are given. */
export function findRecordedBackup(db: Queries, { places, place, name }: Wanted): Promise<Row<'backup'> | undefined> {
  let known = db.selectFrom('backup').selectAll().where('place', 'in', places)
  if (place !== undefined) known = known.where('place', '=', place)
  if (name !== undefined) known = known.where('name', '=', name)
  return known.orderBy('begun_at', 'desc').limit(1).executeTakeFirst()
}

/** The scheduled backups of a place. */
export function listScheduledBackups(db: Queries, place: string): Promise<Row<'backup'>[]> {
  return db.selectFrom('backup').selectAll().where('place', '=', place).where('made_by', '=', 'schedule').execute()
}

/** Forgets backups that are no longer in their place. */
export async function deleteBackupRecords(tx: Queries, place: string, names: readonly string[]): Promise<void> {
  await tx.deleteFrom('backup').where('place', '=', place).where('name', 'in', names).execute()
}

export type BackupStatus = {
  /** When the newest good backup was begun, in ms. Null: there is none. Good is what no check found a fault in. */
  lastGood: number | null
  /** When the newest one was begun that a check found whole. */
  lastVerified: number | null
  /** How many the last check found damaged. */
  damaged: number
  /** Why the last scheduled backup could not be made. Null: it could, or there was none. */
  failed: string | null
}

/** What doctor and the figures say of backups. Where scheduled ones go to a bucket, only backups in a bucket are good: docs/backup.md: Watched. */
export async function readBackupStatus(db: Queries, { backups }: Pick<Config, 'backups'>): Promise<BackupStatus> {
  const rows = await db.selectFrom('backup').select(['place', 'begun_at', 'verified_at', 'fault']).execute()
  const run = await db
    .selectFrom('backup_run')
    .select('fault')
    // One that runs says nothing yet.
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
