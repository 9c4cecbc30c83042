/** PostgreSQL, or a distributed engine that speaks its protocol: serializable transactions with retries. */

import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import type { PoolSettings } from '../../settings/store.ts'
import { type ChangedTopics, createChangeFeed, type StoreObserver } from '../change-feed.ts'
import { type Db, migrate, type Queries } from '../db.ts'
import type { Schema } from '../schema.ts'
import { installChangeTriggers } from './change-triggers.ts'
import { mayHaveCommitted, refusalOf } from './conditions.ts'
import { postgresDialect } from './dialect.ts'
import { openChangeNotifications } from './notifications.ts'
import { type Connections, IDLE, mustBePrimary, openPipeline, type Pipeline } from './pipeline.ts'
import { createRetries } from './retries.ts'
import { createStatementNames } from './statement.ts'

/** Times and counts fit a double (2^53), so bigint columns are numbers on both engines. */
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

const CONNECTION = {
  connectionTimeoutMillis: 2000,
  statement_timeout: 5000,
  lock_timeout: 2000,
  idle_in_transaction_session_timeout: 10_000,
  query_timeout: 6000,
  keepAlive: true,
  application_name: 'berth',
  // Sends statements without waiting for earlier responses.
  pipeline: true,
}

/** Limits of autocommit queries (`Db.autocommit`). */
const SHORT = { statement_timeout: 2000, lock_timeout: 1500, query_timeout: 3000 }
const APART_CONNECTIONS = 2

/**
 * Opens and migrates a PostgreSQL database. `onLost` receives errors of connections that the server ended; they are replaced. `connect` returns the
 * connections, which open on first use.
 */
export async function openPostgres(
  url: string,
  onLost: (error: Error) => void,
  watch?: StoreObserver,
  options: PoolSettings = { preparedStatements: true, patience: 1 },
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
    mayHaveCommitted,
    async close() {
      await feed.close()
      await Promise.all([pipeline.close(), ownPipeline.close(), queries.destroy()])
    },
  }
}

/** Returns the connections of a database, none of them open yet. `onLost` receives errors of those that the server ended. */
export function openConnections(
  url: string,
  onLost: (error: Error) => void,
  { preparedStatements, patience: timeout, idle = IDLE }: PoolSettings,
): Connections {
  const probed = { keepAliveInitialDelayMillis: idle.probeMs, connectionString: url }
  const config = { ...CONNECTION, ...waiting(CONNECTION, timeout), ...probed }
  const names = createStatementNames(preparedStatements)
  const pipeline = openPipeline(() => new pg.Client(config), names, onLost, undefined, idle)
  // A transaction that has a pooled connection may wait for these queries, so they must be short.
  const short = { ...config, ...waiting(SHORT, timeout) }
  const apart = openPipeline(() => new pg.Client(short), names, onLost, APART_CONNECTIONS, idle)
  return { pool: openPool(config, onLost), pipeline, apart, names, idle }
}

/** Multiplies the times of a table, in milliseconds. */
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
    // A restore detects an idle service by its connection.
    min: 1,
    // Not `verify`: there a connection is never returned if its requester has timed out meanwhile.
    onConnect: mustBePrimary,
  })
  // Without a listener on pool and client, the first restart of the server would end this process.
  pool.on('error', onLost)
  pool.on('connect', (client) => client.on('error', onLost))
  return pool
}

/** Migrates the database. Other instances that start wait for it. Returns the migrations that ran. */
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
 * Opens one connection without a statement timeout, for migrations, backups and restores. Throws, naming the setting without its password, when the
 * server cannot be reached. `timeoutMs`: the limit for connecting and for each statement.
 */
export function openPostgresConnection(url: string, timeoutMs?: number): Queries {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: timeoutMs ?? 10_000,
    ...(timeoutMs !== undefined && { query_timeout: timeoutMs }),
    application_name: 'berth alone',
  })
  // A connection that the server ended fails the next query, not the process.
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
 * Blocks commits until this transaction ends: each writes an audit entry, and waits there. It must be the first statement, because the snapshot begins
 * with the first query, and a LOCK does not count as one.
 */
async function holdOthersOff(tx: Queries): Promise<void> {
  await sql`lock table audit in share row exclusive mode`.execute(tx)
}
