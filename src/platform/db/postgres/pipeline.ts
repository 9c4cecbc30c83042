/** Connections that reads share. A statement is sent at once, behind pending ones. For short statements only: a long one delays those behind it. */
import type { Writable } from 'node:stream'
import type pg from 'pg'
import type { IdleTimes } from '../../settings/store.ts'
import { isCut } from './conditions.ts'
import type { Statement, StatementNames } from './statement.ts'

/** The connections of a database: a pool for transactions, and shared ones for reads and autocommit statements. */
export type Connections = {
  pool: Pick<pg.Pool, 'options' | 'connect' | 'end' | 'totalCount' | 'idleCount' | 'waitingCount'>
  pipeline: Pipeline
  apart: Pipeline
  names: StatementNames
  idle: IdleTimes
}

/** Azure drops a connection after 4 idle minutes, other networks later. docs/scaling.md: Dropped idle connections. */
export const IDLE: IdleTimes = { probeMs: 30_000, believedMs: 60_000 }

/** Enough to keep a few cores of the server busy. Each runs one statement at a time. */
const READING_CONNECTIONS = 4

export type Pipeline = {
  /** Runs a statement that returns rows, outside of a transaction. */
  run(statement: Statement): Promise<unknown[]>
  /** The number of open connections. */
  open(): number
  close(): Promise<void>
}

/** `usedAt`: when it was opened or last responded, in monotonic ms. */
type Connection = { client: pg.Client; unanswered: number; connecting: Promise<unknown> | undefined; usedAt: number }

/**
 * Opens the shared connections on demand. `newClient` creates a client that pipelines. `onLost` receives errors of lost connections. A long idle
 * connection is not used, and a read whose connection was cut is sent once more.
 */
export function openPipeline(
  newClient: () => pg.Client,
  names: StatementNames,
  onLost: (error: Error) => void,
  maxConnections = READING_CONNECTIONS,
  { believedMs } = IDLE,
): Pipeline {
  const connections = new Set<Connection>()
  let closed = false
  const send = async (statement: Statement): Promise<unknown[]> => {
    retire(connections, performance.now() - believedMs)
    const connection = pick(connections, maxConnections, () => connect(connections, newClient(), onLost))
    connection.unanswered++
    try {
      if (connection.connecting !== undefined) await connection.connecting
      writeTogether(connection.client.connection.stream)
      const { rows } = await connection.client.query(names.withName(statement))
      connection.usedAt = performance.now()
      return rows
    } finally {
      connection.unanswered--
      if (!connections.has(connection)) leave(connection)
    }
  }
  return {
    run(statement) {
      const since = performance.now()
      return send(statement).catch((error) => {
        const isAgain = !closed && isCut(error) && isRead(statement)
        if (!names.resetAfter(error) && !isAgain) throw error
        // The same cause may have cut all connections without a response since.
        if (isAgain) retire(connections, since)
        return send(statement)
      })
    },
    open: () => connections.size,
    async close() {
      closed = true
      await Promise.all([...connections].map(({ client }) => client.end().catch(() => {})))
    },
  }
}

/** Returns whether an autocommit statement changes nothing, so it can be sent twice. */
function isRead({ sql }: Pick<Statement, 'sql'>): boolean {
  return /^\s*select\b/i.test(sql)
}

/** Removes the connections that were not used since a time. Pending statements finish first. */
function retire(connections: Set<Connection>, since: number): void {
  for (const connection of connections) {
    if (connection.connecting !== undefined || connection.usedAt >= since) continue
    connections.delete(connection)
    leave(connection)
  }
}

function leave({ client, unanswered }: Connection): void {
  if (unanswered > 0) return
  client.end().catch(() => {})
  hangUp(client)
}

/** Destroys a connection after its goodbye message. The peer may be gone, so nothing waits for it. */
export function hangUp(client: pg.ClientBase): void {
  ;(client as pg.Client).connection.stream.destroy()
}

/** Combines the writes of one event-loop iteration: a write costs as much as a statement. */
function writeTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** Returns the connection with the fewest pending statements. Opens one more when all are busy. */
function pick(connections: ReadonlySet<Connection>, max: number, open: () => Connection): Connection {
  let min: Connection | undefined
  for (const connection of connections) {
    if (min === undefined || rank(connection) < rank(min)) min = connection
  }
  if (min === undefined) return open()
  if (min.unanswered > 0 && connections.size < max) open()
  return min
}

/** Connections that are still connecting come last. */
function rank({ connecting, unanswered }: Connection): number {
  return connecting === undefined ? unanswered : unanswered + 1e6
}

function connect(connections: Set<Connection>, client: pg.Client, onLost: (error: Error) => void): Connection {
  const connection: Connection = { client, unanswered: 0, connecting: undefined, usedAt: performance.now() }
  connections.add(connection)
  client.on('error', (error) => {
    connections.delete(connection)
    onLost(error)
  })
  client.once('end', () => connections.delete(connection))
  connection.connecting = connectToLeader(client).then(
    () => {
      connection.connecting = undefined
      connection.usedAt = performance.now()
    },
    (error) => {
      connections.delete(connection)
      client.end().catch(() => {})
      throw error
    },
  )
  // A connection without a waiting statement may fail too.
  connection.connecting.catch(() => {})
  return connection
}

async function connectToLeader(client: pg.Client): Promise<void> {
  await client.connect()
  await mustBePrimary(client)
}

/**
 * Verifies that the server accepts writes. A standby may show commits late or never, and a name may resolve to one during a failover. Throws 25006, as
 * a standby does at the first write.
 */
export async function mustBePrimary(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query('select pg_is_in_recovery() as follows')
  if (rows[0].follows) throw Object.assign(new Error('the server is a standby, which only reads'), { code: '25006' })
}
