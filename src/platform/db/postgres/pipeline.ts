/**
 * Connections that reads share. A statement is sent at once, behind those that wait for their answers, so that no read waits for a
 * connection of its own. For short statements alone: a long one holds up those behind it.
 */
import type { Writable } from 'node:stream'
import type pg from 'pg'
import type { IdleTimes } from '../../settings/store.ts'
import { isCut } from './conditions.ts'
import type { Statement, StatementNames } from './statement.ts'

/** The connections of a store: a pool for transactions, and those that reads and statements by themselves share. */
export type Connections = {
  pool: Pick<pg.Pool, 'options' | 'connect' | 'end' | 'totalCount' | 'idleCount' | 'waitingCount'>
  pipeline: Pipeline
  apart: Pipeline
  names: StatementNames
  idle: IdleTimes
}

/** Azure forgets a connection after 4 idle minutes, other networks later. docs/scaling.md: A network that forgets connections. */
export const IDLE: IdleTimes = { probeMs: 30_000, believedMs: 60_000 }

/** As many as keep a few cores of the server busy. Each runs one statement at a time. */
const READING_CONNECTIONS = 4

export type Pipeline = {
  /** Runs a statement that gives rows, outside of a transaction. */
  run(statement: Statement): Promise<unknown[]>
  /** Connections that are open. */
  open(): number
  close(): Promise<void>
}

/** `usedAt`: when it was opened, or answered last, in monotonic ms. */
type Connection = { client: pg.Client; unanswered: number; connecting: Promise<unknown> | undefined; usedAt: number }

/**
 * `newClient`: makes a client that sends at once. `onLost` hears of connections that ended; the next statement opens another one. A connection
 * that was idle for long is not used, and a read whose connection was cut is sent once more: nothing was lost by it.
 */
export function openPipeline(
  newClient: () => pg.Client,
  names: StatementNames,
  onLost: (error: Error) => void,
  mostConnections = READING_CONNECTIONS,
  { believedMs } = IDLE,
): Pipeline {
  const connections = new Set<Connection>()
  let closed = false
  const send = async (statement: Statement): Promise<unknown[]> => {
    retire(connections, performance.now() - believedMs)
    const connection = pick(connections, mostConnections, () => connect(connections, newClient(), onLost))
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
        // What cut one connection may have cut all that have not answered since.
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

/** Whether a statement by itself changes nothing, so that it may be sent twice. */
function isRead({ sql }: Pick<Statement, 'sql'>): boolean {
  return /^\s*select\b/i.test(sql)
}

/** Takes away the connections that were not used since a moment. Those that have statements under way end after them. */
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

/** Ends a connection of which a farewell was sent. The other side may be gone, so nothing waits for its answer. */
export function hangUp(client: pg.ClientBase): void {
  ;(client as pg.Client).connection.stream.destroy()
}

/** What this iteration of the event loop sends over a stream is written at once: a write costs as much as a statement. */
function writeTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => stream.uncork())
}

/** The connection with the fewest unanswered statements. One more is opened when each has some. */
function pick(connections: ReadonlySet<Connection>, most: number, open: () => Connection): Connection {
  let least: Connection | undefined
  for (const connection of connections) {
    if (least === undefined || rank(connection) < rank(least)) least = connection
  }
  if (least === undefined) return open()
  if (least.unanswered > 0 && connections.size < most) open()
  return least
}

/** A connection that is still being opened is taken only where there is no other. */
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
  // One that nobody waits for yet may fail too.
  connection.connecting.catch(() => {})
  return connection
}

async function connectToLeader(client: pg.Client): Promise<void> {
  await client.connect()
  await mustBePrimary(client)
}

/**
 * A standby shows what was acknowledged a moment later, or never. What should lead to the server that writes may name one while
 * another takes over. Throws 25006, as that server does at the first write.
 */
export async function mustBePrimary(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query('select pg_is_in_recovery() as follows')
  if (rows[0].follows) throw Object.assign(new Error('the server is a standby, which only reads'), { code: '25006' })
}
