/** Restores a backup into either engine. docs/backup.md. */
import { chmodSync, constants, copyFileSync, existsSync, linkSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import { someOf } from '../../platform/base/text.ts'
import { migrate, type Queries, schemaOf } from '../../platform/db/db.ts'
import { openSqliteFile, withExclusiveFile } from '../../platform/db/sqlite/open.ts'
import { hasRows, type Store, tablesOf } from '../../platform/db/tables.ts'
import { copyRows, noteRestore, tablesToCopy } from './copy.ts'
import { checkIntegrity, checkKeys, checkRowCounts, type KeyCheck } from './integrity.ts'
import { type Manifest, readManifest, renameDurably, syncPath, verifyChecksum } from './manifest.ts'
import type { Progress } from './progress.ts'

export type RestoreResult = {
  manifest: Manifest
  /** Migrations applied to an older backup. */
  migrated: string[]
  keys: KeyCheck
  /** Path of the previous database. */
  putAside?: string
}

/**
 * Restores a backup into an empty database or, with `force`, replaces one. All or nothing. Throws when the backup is damaged or from a newer Berth,
 * the database is not empty, or a service uses it. The result reports whether the keyring decrypts the values: it may be supplied later.
 */
export async function restoreBackup(
  config: Config,
  { from, force }: { from: string; force: boolean },
  progress: Progress,
): Promise<RestoreResult> {
  process.umask(0o077)
  const backup = resolve(from)
  const stats = statSync(backup, { throwIfNoEntry: false })
  if (stats === undefined) throw new Error(`${backup} is not there: name a file that berth backup wrote`)
  if (stats.isDirectory()) throw new Error(`${backup} is a directory: name the file in it that berth backup wrote`)
  const manifest = readManifest(backup)
  await verifyChecksum(backup, manifest, progress)
  const pending = await mustBeKnown(backup, manifest)
  const restored =
    config.database.engine === 'sqlite'
      ? await restoreSqlite(config.database.file, backup, force)
      : await restorePostgres(config, config.database.url, backup, pending, force, progress)
  return { manifest, ...restored, keys: await keysOf(config) }
}

/** Returns the migrations that the backup does not have. */
async function mustBeKnown(backup: string, manifest: Manifest): Promise<string[]> {
  const { applied, pending, unknown } = await withFile(backup, true, schemaOf)
  if (unknown.length > 0)
    throw new Error(
      `${backup} is from a newer version of Berth (it has ${unknown.join(', ')}): restore it with that one`,
    )
  if (applied.length === 0) throw new Error(`${backup} holds no store of Berth`)
  checkRowCounts(backup, await checkIntegrity(backup), manifest)
  return pending
}

async function restoreSqlite(url: string, backup: string, force: boolean) {
  return withExclusiveFile(url, 0, async (file) => {
    const isEmpty = !existsSync(file) || (await withFile(file, false, isEmptyStore))
    if (!isEmpty && !force) throw notEmpty(file, `the database is then renamed to ${file}.before-<time>`)
    const fresh = `${file}.restoring`
    try {
      const migrated = await copyAndMigrate(backup, fresh)
      await withFile(fresh, false, noteRestore)
      syncPath(fresh)
      // Closing SQLite merged its WAL. A remaining one would be applied to the restored file.
      if (existsSync(`${file}-wal`)) throw new Error(`another program has ${file} open: end it, then restore`)
      const putAside = isEmpty ? undefined : keepAside(file)
      renameDurably(fresh, file)
      return { migrated, ...(putAside && { putAside }) }
    } finally {
      for (const path of [fresh, `${fresh}-journal`]) rmSync(path, { force: true })
    }
  })
}

async function copyAndMigrate(backup: string, fresh: string): Promise<string[]> {
  rmSync(fresh, { force: true })
  copyFileSync(backup, fresh, constants.COPYFILE_FICLONE)
  chmodSync(fresh, 0o600)
  const migrated = await withFile(fresh, false, (copy) => migrate(copy))
  await checkIntegrity(fresh)
  syncPath(fresh)
  return migrated
}

/** Links the previous database to a second name first, so its path always has a database. */
function keepAside(file: string): string {
  const previous = `${file}.before-${new Date().toISOString().replaceAll(':', '-')}`
  linkSync(file, previous)
  return previous
}

/** One transaction, so an interrupted restore changes nothing. */
async function restorePostgres(
  { dataDirectory }: Config,
  url: string,
  backup: string,
  pending: string[],
  force: boolean,
  progress: Progress,
) {
  const { openPostgresConnection } = await import('../../platform/db/postgres/open.ts')
  const target = openPostgresConnection(url)
  createDirectory(dataDirectory)
  const directory = mkdtempSync(join(dataDirectory, 'restoring-'))
  try {
    await mustBeAlone(target)
    await mustNotBeNewer(target)
    if (!force) await mustBeEmpty(target)
    await migrate(target)
    const file = pending.length === 0 ? backup : join(directory, 'backup.db')
    const migrated = pending.length === 0 ? [] : await copyAndMigrate(backup, file)
    await withFile(file, true, (from) => target.transaction().execute((to) => replaceRows(from, to, force, progress)))
    await sql`analyze`.execute(target)
    return { migrated }
  } finally {
    await target.destroy()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A service that starts meanwhile waits for the table locks and times out. */
async function replaceRows(from: Queries, to: Queries, force: boolean, progress: Progress): Promise<void> {
  const own = await tablesToCopy(from)
  const all = [...(await tablesToCopy(to)).keys()].filter((name) => own.has(name)).map((name) => sql.table(name))
  await sql`lock table ${sql.join(all)} in access exclusive mode`.execute(to)
  await mustBeAlone(to)
  if (!force) await mustBeEmpty(to)
  await sql`truncate table ${sql.join(all)}`.execute(to)
  await copyRows(from, to, progress)
  await noteRestore(to)
}

async function mustBeAlone(db: Queries): Promise<void> {
  const { rows } = await sql`select pid from pg_stat_activity
    where datname = current_database() and application_name = 'berth' limit 1`.execute(db)
  if (rows.length > 0) throw new Error('a service runs on this database: stop every instance, then restore')
}

/** Tables that this version does not know would stay, and a later upgrade would find them. docs/upgrading.md: Downgrade. */
async function mustNotBeNewer(db: Queries): Promise<void> {
  const { applied, unknown } = await schemaOf(db)
  // Tables of another program have a message of their own.
  if (unknown.length === 0 || unknown.length === applied.length) return
  throw new Error(
    `the database has tables of a newer version of Berth (${someOf(unknown)}), which this version cannot remove: set DATABASE_URL to a new database, or drop the tables of Berth there, then restore`,
  )
}

async function mustBeEmpty(db: Queries): Promise<void> {
  if (!(await isEmptyStore(db))) throw notEmpty('the database', 'its content is then deleted')
}

/** Empty: migrated, without a first account. */
async function isEmptyStore(db: Store): Promise<boolean> {
  return !(await tablesOf(db)).has('account') || !(await hasRows(db, 'account'))
}

function notEmpty(place: string, loss: string): Error {
  return new Error(`${place} is not empty: restore into an empty database, or use --force (${loss})`)
}

async function keysOf(config: Config): Promise<KeyCheck> {
  if (config.database.engine === 'sqlite')
    return withFile(config.database.file, true, (store) => checkKeys(store, config))
  const { openPostgresConnection } = await import('../../platform/db/postgres/open.ts')
  const store = openPostgresConnection(config.database.url)
  return checkKeys(store, config).finally(() => store.destroy())
}

async function withFile<T>(file: string, readOnly: boolean, work: (db: Queries) => Promise<T>): Promise<T> {
  const db = openSqliteFile(file, readOnly)
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
