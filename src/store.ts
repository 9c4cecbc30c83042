/** Opens the configured database, with metrics and optional traces of its statements. */
import { existsSync, statSync } from 'node:fs'
import type { Logger } from 'pino'
import { BadSetting, type Config } from './config.ts'
import type { Deps } from './context.ts'
import { openFolderStore } from './delivery/files/folder-store.ts'
import { type Metrics, observe } from './metrics.ts'
import { mustOwnSuffix } from './model/domain-name.ts'
import { parseSchedule } from './operations/backup/runs.ts'
import { createDirectory } from './platform/adapters/directory.ts'
import { describeError } from './platform/adapters/file-errors.ts'
import type { StoreObserver } from './platform/db/change-feed.ts'
import type { Db } from './platform/db/db.ts'
import type { openConnections } from './platform/db/postgres/open.ts'
import type { SqliteOptions } from './platform/db/sqlite/open.ts'
import type { FileStore } from './platform/files/file-store.ts'
import { readPair } from './platform/tls/tls.ts'
import type { Traces } from './platform/tracing/traces.ts'
import { type StartWait, saidWhile, untilThere } from './start-wait.ts'

type EngineOptions = Omit<SqliteOptions, 'file' | 'watch'> & { connect?: typeof openConnections; waits?: StartWait }

/**
 * Opens the database and its file storage. `traces` is undefined without a collector. `options.connect`: as in `openPostgres`. `options.waits`: how
 * long to wait for a database server; without it, not at all. Throws BadSetting.
 */
export async function openStore(
  config: Config,
  log: Logger,
  options: EngineOptions,
  metrics: Metrics,
): Promise<Pick<Deps, 'db' | 'traces' | 'files'>> {
  mustOwnSuffix(config.domains)
  if (config.tls) readPair(config.tls)
  if (config.backups.schedule !== undefined) await parseSchedule(config.backups.schedule)
  createDataDirectory(config)
  const files = openFiles(config)
  const traces = await openTraces(config, log)
  const db = await openEngine(config, log, options, storeWatch(metrics, traces))
  if (traces === undefined) return { db, traces, files }
  // A queued write may run within another request, so it is bound to the request that started it.
  return { db: { ...db, write: (work, owner) => db.write(traces.bind(work), owner) }, traces, files }
}

function createDataDirectory({ dataDirectory }: Config): void {
  if (existsSync(dataDirectory) && !statSync(dataDirectory).isDirectory())
    throw new BadSetting(`BERTH_DATA must be a folder, and ${dataDirectory} is a file`)
  try {
    createDirectory(dataDirectory)
  } catch (error) {
    throw new BadSetting(`BERTH_DATA: cannot make the folder ${dataDirectory} (${describeError(error)})`)
  }
}

function openFiles({ files }: Config): FileStore {
  try {
    return openFolderStore(files.to)
  } catch (error) {
    throw new BadSetting(`BERTH_FILES_TO: cannot use the folder ${files.to} (${describeError(error)})`)
  }
}

/** OpenTelemetry is loaded only with a collector. */
async function openTraces({ traces: receiver, database, tls }: Config, log: Logger): Promise<Traces | undefined> {
  if (receiver === undefined) return undefined
  const engine = database.engine === 'sqlite' ? 'sqlite' : 'postgresql'
  const { openOtlp } = await import('./platform/tracing/otlp.ts')
  return openOtlp({ receiver, engine, scheme: tls === undefined ? 'http' : 'https', log })
}

/** Programs migrate a database one at a time, and each waits for the lock. */
const MIGRATING =
  'the database of DATABASE_URL is not open yet: its tables are brought to this version, or it is waited for another program that migrates a part of this database (pg_locks: advisory)'

/** Only the engine in use is loaded. */
async function openEngine(
  { database, pool }: Config,
  log: Logger,
  { connect, waits, ...options }: EngineOptions,
  watch: StoreObserver,
): Promise<Db> {
  if (database.engine === 'sqlite') {
    const { openSqlite } = await import('./platform/db/sqlite/open.ts')
    return openSqlite({ ...options, watch, file: database.file })
  }
  const { openPostgres } = await import('./platform/db/postgres/open.ts')
  const onLost = (error: Error) => log.warn({ err: error }, 'the database ended a connection')
  const open = () => saidWhile(MIGRATING, log, () => openPostgres(database.url, onLost, watch, pool, connect))
  return waits === undefined ? open() : untilThere('the database of DATABASE_URL', waits, open)
}

function storeWatch(metrics: Metrics, traces: Traces | undefined): StoreObserver {
  const writes = metrics.histogram('berth_commit_writes')
  const durations = metrics.histogram('berth_commit_duration_seconds')
  const racesLost = metrics.counter('berth_races_lost_total')
  return {
    committed(count, ms) {
      observe(writes, count)
      observe(durations, ms / 1000)
    },
    serializationFailure: () => void racesLost.value++,
    statement: traces?.statement,
  }
}
