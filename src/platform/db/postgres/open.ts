/** PostgreSQL, or a distributed engine that speaks its protocol: serializable transactions, run again when they lose a race. */

import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { PoolSettings } from '../../settings/store.ts'
import { type ChangedTopics, createChangeFeed, type StoreObserver } from '../change-feed.ts'
import { type Db, migrate, type Queries } from '../db.ts'
import type { Schema } from '../schema.ts'
import { installChangeTriggers } from './change-triggers.ts'
import { refusalOf } from './conditions.ts'
import { postgresDialect } from './dialect.ts'
import { openChangeNotifications } from './notifications.ts'
import { type Connections, IDLE, mustBePrimary, openPipeline, type Pipeline } from './pipeline.ts'
import { createRetries } from './retries.ts'
import { createStatementNames } from './statement.ts'

/** Moments and counts fit a double (2^53), so bigint columns read as numbers on both engines. */
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

const CONNECTION = {
  connectionTimeoutMillis: 2000,
  statement_timeout: 5000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 10_000,
  query_timeout: 6000,
  keepAlive: true,
  application_name: 'berth',
  // Statements that do not wait for each other's answers are sent at once.
  pipeline: true,
}

/** Of statements that stand by themselves (`Db.apart`). */
const SHORT = { statement_timeout: 2000, lock_timeout: 1500, query_timeout: 3000 }
const APART_CONNECTIONS = 2

/**
 * Opens and migrates a PostgreSQL store. `onLost` is called with connections that the server ended; others replace them. `connect` gives the
 * connections, which are opened when they are needed.
 */
export async function openPostgres(
  url: string,
  onLost: (error: Error) => void,
  watch?: StoreObserver,
  options: PoolSettings = { keepsStatements: true, patience: 1 },
  connect: typeof openConnections = openConnections,
): Promise<Db> {
  const connections = connect(url, onLost, options)
  const { pool, pipeline, apart: ownPipeline } = connections
  const onCommit = (changed: ChangedTopics) => feed.add(changed)
  const queries = new Kysely<Schema>({ dialect: postgresDialect(connections, onCommit, watch?.statement) })
  const apart = new Kysely<Schema>({
    dialect: postgresDialect({ ...connections, pipeline: ownPipeline }, onCommit, watch?.statement),
  })
  await migratePostgres(url)
  const changes = createChangeFeed()
  const feed = openChangeNotifications({ url, changes, db: queries, onLost, probeMs: connections.idle.probeMs })
  const untilWon = createRetries(() => watch?.serializationFailure())

  return {
    engine: 'postgres',
    read: queries,
    autocommit: apart,
    write: (work, owner = '') =>
      untilWon(owner, async (alone) => {
        const before = performance.now()
        const transaction = queries.transaction().setIsolationLevel('serializable')
        const value = await transaction.execute(async (tx) => {
          if (alone) await holdOthersOff(tx)
          return work(tx)
        })
        watch?.committed(1, performance.now() - before)
        return value
      }),
    connections: () => countConnections(pool, [pipeline, ownPipeline]),
    changes,
    refreshSnapshot: () => {},
    refusalOf,
    async close() {
      await feed.close()
      await Promise.all([pipeline.close(), ownPipeline.close(), queries.destroy()])
    },
  }
}

/** The connections of a store, none of which is open yet. `onLost` is called with those that the server ended. */
export function openConnections(
  url: string,
  onLost: (error: Error) => void,
  { keepsStatements, patience: timeout, idle = IDLE }: PoolSettings,
): Connections {
  const probed = { keepAliveInitialDelayMillis: idle.probeMs, connectionString: url }
  const config = { ...CONNECTION, ...waiting(CONNECTION, timeout), ...probed }
  const names = createStatementNames(keepsStatements)
  const pipeline = openPipeline(() => new pg.Client(config), names, onLost, undefined, idle)
  // A transaction that has a connection of the pool may wait for what is asked here. What takes long here is not worth waiting for.
  const short = { ...config, ...waiting(SHORT, timeout) }
  const apart = openPipeline(() => new pg.Client(short), names, onLost, APART_CONNECTIONS, idle)
  return { pool: openPool(config, onLost), pipeline, apart, names, idle }
}

/** The times of a table, in milliseconds, so many times as long. */
function waiting(table: Record<string, unknown>, timeout: number): Record<string, number> {
  const times = Object.entries(table).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
  return Object.fromEntries(times.map(([name, ms]) => [name, ms * timeout]))
}

function countConnections({ totalCount, idleCount, waitingCount }: Connections['pool'], pipelines: Pipeline[]) {
  const open = pipelines.reduce((sum, pipeline) => sum + pipeline.open(), totalCount)
  return { open, idle: idleCount, waiting: waitingCount }
}

function openPool(config: pg.PoolConfig, onLost: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    max: 20,
    // An idle service is still seen by whoever would restore over it.
    min: 1,
    // Not by `verify`: a connection is never given back there when whoever waited for it has given up meanwhile.
    onConnect: mustBePrimary,
  })
  // Without a listener on pool and client, the first restart of the server would end this process.
  pool.on('error', onLost)
  pool.on('connect', (client) => client.on('error', onLost))
  return pool
}

/** Instances that start together wait here for the first one's migration, however long it takes. Gives the migrations that ran. */
export async function migratePostgres(url: string): Promise<string[]> {
  const queries = openPostgresConnection(url)
  try {
    const ran = await migrate(queries)
    await installChangeTriggers(queries)
    return ran
  } finally {
    await queries.destroy()
  }
}

/**
 * One connection whose statements may take as long as they take: for migrations, backups and restores. Throws, naming the
 * setting and never its password, when the server cannot be reached. `patienceMs`: how long a connection and each statement may take at most.
 */
export function openPostgresConnection(url: string, patienceMs?: number): Queries {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: patienceMs ?? 10_000,
    ...(patienceMs !== undefined && { query_timeout: patienceMs }),
    application_name: 'berth alone',
  })
  // What the server ended is told by the next query, not by ending the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const connect = () =>
    pool.connect().catch((error: Error & { code?: string }) => {
      const { host, pathname } = new URL(url)
      const message = error.message || error.code
      throw new Error(`cannot connect to DATABASE_URL (${host}${pathname}): ${message}`, { cause: error })
    })
  const dialect = new PostgresDialect({ pool: { options: pool.options, connect, end: () => pool.end() } })
  return new Kysely<Schema>({ dialect })
}

/**
 * Nobody commits a write before this transaction ends: each writes a line of the audit log, and waits there. It is the first statement, for
 * what a transaction sees is what was committed when its first query ran, and a LOCK is none.
 */
async function holdOthersOff(tx: Queries): Promise<void> {
  await sql`lock table audit in share row exclusive mode`.execute(tx)
}
