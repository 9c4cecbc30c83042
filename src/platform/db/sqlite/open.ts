/** The embedded store: one file, one process, a writing connection with group commit and a reading one. */
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

/** A stamp met one from before a clock change; the next attempt has another. */
const ATTEMPTS = 10
/** How long a migration waits for another one of the same file. */
const LOCK_PATIENCE_MS = 10_000

export type SqliteOptions = {
  /** The database file; `<file>-lock` beside it says that a process has it, `<file>-pid` which. */
  file: string
  /** The most writers that share one fsync. */
  groupLimit?: number
  /** No setting leads here. NORMAL, with which a power cut loses what was acknowledged, is what proves that a test of power cuts can fail. */
  synchronous?: 'FULL' | 'NORMAL'
  /**
   * A failed fsync leaves it unknown what is on disk: the process must end and recover from the log. So must one whose file was
   * removed or replaced, as what it writes is lost. docs/spec/reliability.md D5, F7.
   */
  onDiskFault: (error: unknown) => void
  watch?: StoreObserver
}

/** Opens and migrates the embedded store. Throws when another process has the file, or the file is from a newer Berth. */
export async function openSqlite(options: SqliteOptions): Promise<Db> {
  const { file: url, groupLimit = 256, synchronous = 'FULL', onDiskFault, watch } = options
  createDirectory(dirname(url))
  const file = canonicalPath(url)
  const lock = lockStore(file, 'stop it first; one Berth a store, use DATABASE_URL=postgres://… for several')
  const writing = openConnection(file, synchronous)
  const queries = new Kysely<Schema>({ dialect: sqliteDialect(writing, undefined, watch?.statement) })
  await migrate(queries)
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
      if (primaryResultCode(error) === IO_ERROR || error instanceof FileReplaced) onDiskFault(error)
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
    async close() {
      snapshot.end()
      await reading.destroy()
      await queries.destroy()
      lock.close()
    },
  }
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

/** A file by itself, such as a backup: without the lock, the log and the group commit of a store that is served from. */
export function openSqliteFile(file: string, readOnly: boolean): Queries {
  const database = new DatabaseSync(file, { readOnly, timeout: 5000 })
  database.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA cache_size = -2048')
  return new Kysely<Schema>({ dialect: sqliteDialect(database) })
}

/**
 * Runs `work` while no service can have the file, and waits `patienceMs` for a process that has it. Throws when a process still has it then.
 */
export async function withExclusiveFile<T>(
  url: string,
  patienceMs: number,
  work: (file: string) => Promise<T>,
): Promise<T> {
  createDirectory(dirname(url))
  const file = canonicalPath(url)
  const lock = lockStore(file, 'stop the service first', patienceMs)
  try {
    return await work(file)
  } finally {
    lock.close()
  }
}

/**
 * Brings a store to this program's schema, as a start does. Gives the migrations that ran. One that lacks none is left alone, also while
 * a service has it. Throws when somebody else has one that lacks some.
 */
export async function migrateSqlite(url: string): Promise<string[]> {
  if (existsSync(url) && (await lacksNothing(url))) return []
  return withExclusiveFile(url, LOCK_PATIENCE_MS, async (file) => {
    const queries = new Kysely<Schema>({ dialect: sqliteDialect(openConnection(file, 'FULL')) })
    return migrate(queries).finally(() => queries.destroy())
  })
}

async function lacksNothing(file: string): Promise<boolean> {
  const store = openSqliteFile(file, true)
  return isUpToDate(await schemaOf(store).finally(() => store.destroy()))
}

/** Throws, in words, where a file is no store, or cannot be read. */
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
 * What is added to the log rests on what is in it, which a failed fsync may have left in memory alone. The lock of a writer keeps
 * other programs from changing the log; readers of it are not waited for, as a checkpoint would.
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
 * Reads share one snapshot until the next commit, which only this process can make: a snapshot of its own for each query
 * would cost more in file locks than the query. It ends right before a commit, so nothing committed is ever missed and the
 * log can be folded back into the file.
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

/** The verbs of the writing connection, each prepared once. */
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
