/**
 * Connections that reads share. A statement is sent at once, behind those that wait for their answers, so that no read waits for a
 * connection of its own. For short statements alone: a long one holds up those behind it.
 */
import type { Writable } from 'node:stream'
import type pg from 'pg'
import type { Names, Statement } from './statement.ts'

/** The connections of a store: a pool for transactions, and those that reads and statements by themselves share. */
export type Connections = {
  pool: Pick<pg.Pool, 'options' | 'connect' | 'end' | 'totalCount' | 'idleCount' | 'waitingCount'>
  pipeline: Pipeline
  apart: Pipeline
  names: Names
}

/** As many as keep a few cores of the server busy. Each runs one statement at a time. */
const READING_CONNECTIONS = 4

export type Pipeline = {
  /** Runs a statement that gives rows, outside of a transaction. */
  run(statement: Statement): Promise<unknown[]>
  /** Connections that are open. */
  open(): number
  close(): Promise<void>
}

type Connection = { client: pg.Client; unanswered: number; connecting: Promise<unknown> | undefined }

/** `newClient`: makes a client that sends at once. `onLost` hears of connections that ended; the next statement opens another one. */
export function openPipeline(
  newClient: () => pg.Client,
  names: Names,
  onLost: (error: Error) => void,
  mostConnections = READING_CONNECTIONS,
): Pipeline {
  const connections = new Set<Connection>()
  const send = async (statement: Statement): Promise<unknown[]> => {
    const connection = pick(connections, mostConnections, () => connect(connections, newClient(), onLost))
    connection.unanswered++
    try {
      if (connection.connecting !== undefined) await connection.connecting
      writeTogether(connection.client.connection.stream)
      return (await connection.client.query(names.named(statement))).rows
    } finally {
      connection.unanswered--
    }
  }
  return {
    run: (statement) =>
      send(statement).catch((error) => {
        if (names.renewAfter(error)) return send(statement)
        throw error
      }),
    open: () => connections.size,
    async close() {
      await Promise.all([...connections].map(({ client }) => client.end().catch(() => {})))
    },
  }
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
  const connection: Connection = { client, unanswered: 0, connecting: undefined }
  connections.add(connection)
  client.on('error', (error) => {
    connections.delete(connection)
    onLost(error)
  })
  client.once('end', () => connections.delete(connection))
  connection.connecting = connectToLeader(client).then(
    () => {
      connection.connecting = undefined
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
  await mustLead(client)
}

/**
 * A standby shows what was acknowledged a moment later, or never. What should lead to the server that writes may name one while
 * another takes over. Throws 25006, as that server does at the first write.
 */
export async function mustLead(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query('select pg_is_in_recovery() as follows')
  if (rows[0].follows) throw Object.assign(new Error('the server is a standby, which only reads'), { code: '25006' })
}
