/** The SQLite database: one file, one process, a write connection with group commit and a read connection. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import {
  canonicalPath,
  createDirectory,
  FileReplaced,
  rewriteAndSync,
  watchFileIdentity,
} from '../../adapters/directory.ts'
import { type ChangedTopics, createChangeFeed, type StoreObserver } from '../change-feed.ts'
import { type Db, isUpToDate, migrate, type Queries, schemaOf } from '../db.ts'
import type { Schema } from '../schema.ts'
import { startChangeCapture } from './change-triggers.ts'
import { sqliteDialect } from './dialect.ts'
import { groupCommit, type Writer } from './group-commit.ts'
import { lockStore } from './lock.ts'
import { CONSTRAINT, FULL, IO_ERROR, primaryResultCode } from './result-codes.ts'
import { explainStoreError } from './store-errors.ts'

/** A stamp may equal one from before a clock change; the next attempt has another. */
const ATTEMPTS = 10
/** How long a migration waits for another one of the same file. */
const LOCK_TIMEOUT_MS = 30_000

export type SqliteOptions = {
  /** The database file. `<file>-lock` marks that a process has it, `<file>-pid` which one. */
  file: string
  /** The maximum number of writers per fsync. */
  groupLimit?: number
  /** Not a setting. NORMAL loses acknowledged writes in a power cut, so a test can check that its power cuts have an effect. */
  synchronous?: 'FULL' | 'NORMAL'
  /**
   * After a failed fsync the disk content is unknown: the process must end and recover from the log. The same holds when the file was removed or
   * replaced, as its writes are lost. docs/spec/reliability.md D5, F7.
   */
  onDiskError: (error: unknown) => void
  watch?: StoreObserver
}

/** Opens and migrates the SQLite database. Throws when another process has the file, or a newer Berth wrote it. */
export async function openSqlite(options: SqliteOptions): Promise<Db> {
  const { file: url, groupLimit = 256, synchronous = 'FULL', onDiskError, watch } = options
  createDirectory(dirname(url))
  const file = canonicalPath(url)
  const lock = lockStore(file, 'stop it first; one Berth a store, use DATABASE_URL=postgres://… for several')
  const { writing, queries } = await openWriter(file, synchronous, watch).catch((error) => {
    lock.close()
    throw error
  })
  const changes = createChangeFeed()
  const takeNotes = startChangeCapture(writing)
  const snapshot = snapshotOf(openConnection(file, 'read only'))
  const reading = new Kysely<Schema>({ dialect: sqliteDialect(snapshot.database, snapshot, watch?.statement) })
  const stillHeld = watchFileIdentity([file, `${file}-wal`, `${file}-lock`])
  let changed: ChangedTopics = []
  const beforeCommit = () => {
    snapshot.end()
    changed = takeNotes()
    changes.invalidate(changed)
  }
  const afterCommit = () => {
    stillHeld()
    if (changed.length > 0) changes.notify(changed)
  }
  const commitTogether = groupCommit(writerOf(writing, beforeCommit, afterCommit), groupLimit, {
    onDone: (writes, ms) => watch?.committed(writes, ms),
    onFailed: (error) => {
      if (primaryResultCode(error) === IO_ERROR || error instanceof FileReplaced) onDiskError(error)
    },
  })
  return {
    engine: 'sqlite',
    read: reading,
    write: (work, owner = '') => attempt(() => commitTogether(() => work(queries), owner)),
    changes,
    refreshSnapshot() {
      snapshot.end()
      changes.invalidate('all')
    },
    refusalOf: (error) => (primaryResultCode(error) === FULL ? 'storage_full' : undefined),
    mayHaveCommitted: () => false,
    async close() {
      snapshot.end()
      await reading.destroy()
      await queries.destroy()
      lock.close()
    },
  }
}

/** Opens the write connection, and migrates the database. */
async function openWriter(file: string, synchronous: 'FULL' | 'NORMAL', watch: StoreObserver | undefined) {
  const writing = openConnection(file, synchronous)
  const queries = new Kysely<Schema>({ dialect: sqliteDialect(writing, undefined, watch?.statement) })
  await migrate(queries).catch(async (error) => {
    await queries.destroy()
    throw error
  })
  return { writing, queries }
}

async function attempt<T>(run: () => Promise<T>, attemptsLeft = ATTEMPTS): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (attemptsLeft > 1 && primaryResultCode(error) === CONSTRAINT && /stamp\b/.test(String(error)))
      return attempt(run, attemptsLeft - 1)
    throw error
  }
}

/** Opens a file such as a backup, without the lock and group commit of a service. */
export function openSqliteFile(file: string, readOnly: boolean): Queries {
  const database = new DatabaseSync(file, { readOnly, timeout: 5000 })
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -2048')
  return new Kysely<Schema>({ dialect: sqliteDialect(database) })
}

/** Runs `work` while no service can open the file. Waits up to `timeoutMs` for another process, then throws. */
export async function withExclusiveFile<T>(
  url: string,
  timeoutMs: number,
  work: (file: string) => Promise<T>,
): Promise<T> {
  createDirectory(dirname(url))
  const file = canonicalPath(url)
  const lock = lockStore(file, 'stop the service first', timeoutMs)
  try {
    return await work(file)
  } finally {
    lock.close()
  }
}

/**
 * Migrates a database to this program's schema. Returns the migrations that ran. An up-to-date one is not touched, also while a service has it. Throws
 * when another process has an outdated one.
 */
export async function migrateSqlite(url: string): Promise<string[]> {
  if (existsSync(url) && (await lacksNothing(url))) return []
  return withExclusiveFile(url, LOCK_TIMEOUT_MS, async (file) => {
    const queries = new Kysely<Schema>({ dialect: sqliteDialect(openConnection(file, 'FULL')) })
    return migrate(queries).finally(() => queries.destroy())
  })
}

async function lacksNothing(file: string): Promise<boolean> {
  const store = openSqliteFile(file, true)
  return isUpToDate(await schemaOf(store).finally(() => store.destroy()))
}

/** Throws a readable error where a file is not a database, or cannot be read. */
export async function mustBeStore(file: string): Promise<void> {
  try {
    await lacksNothing(file)
  } catch (error) {
    throw explainStoreError(error, file)
  }
}

function openConnection(file: string, how: 'FULL' | 'NORMAL' | 'read only'): DatabaseSync {
  const readOnly = how === 'read only'
  const database = new DatabaseSync(file, { readOnly, timeout: 5000 })
  if (!readOnly) database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${how}; PRAGMA secure_delete = ON`)
  if (!readOnly) putLogOnDisk(database, `${file}-wal`)
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -2048')
  return database
}

/**
 * Syncs the log: after a failed fsync its content may exist only in memory. The write lock keeps other programs from changing it. Unlike a checkpoint,
 * this does not wait for readers.
 */
function putLogOnDisk(database: DatabaseSync, log: string): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    rewriteAndSync(log)
  } finally {
    database.exec('COMMIT')
  }
}

/**
 * Reads share one snapshot until the next commit of this process, because a snapshot per query costs more in file locks than the query. It ends right
 * before a commit, so reads never miss one and the log can be checkpointed.
 */
function snapshotOf(database: DatabaseSync) {
  const begin = database.prepare('BEGIN')
  const commit = database.prepare('COMMIT')
  return {
    database,
    open() {
      if (!database.isTransaction) begin.run()
    },
    end() {
      if (database.isTransaction) commit.run()
    },
  }
}

function writerOf(database: DatabaseSync, beforeCommit: () => void, afterCommit: () => void): Writer {
  const verbs = new Map<string, ReturnType<DatabaseSync['prepare']>>()
  return {
    beforeCommit,
    afterCommit,
    exec(sql) {
      let verb = verbs.get(sql)
      if (verb === undefined) {
        verb = database.prepare(sql)
        verbs.set(sql, verb)
      }
      verb.run()
    },
    inTransaction: () => database.isTransaction,
  }
}
