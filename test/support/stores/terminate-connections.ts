/** Connections to PostgreSQL that a test ends. */
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type pg from 'pg'
import { eventually } from '../eventually.ts'

const MAX_MS = 10_000

/** The open connections of this process. */
const sockets = new Set<Socket>()
subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: Socket }
  sockets.add(socket)
  socket.once('close', () => sockets.delete(socket))
})

/**
 * Ends all other connections to a database, and waits until this process knows it: what is sent over a connection that is cut is
 * refused with 503, rightly. `client`: may be connected to another database of the server. `name`: of the programs that are cut off, a pattern of LIKE.
 */
export async function terminateConnections(client: pg.Client, database: string, name = '%'): Promise<void> {
  const { rows } = await client.query<{ port: number }>(
    `select client_port as port, pg_terminate_backend(pid, $3) from pg_stat_activity
      where datname = $1 and application_name like $2 and pid <> pg_backend_pid()`,
    [database, name, MAX_MS],
  )
  const cut = new Set(rows.map(({ port }) => port))
  // Their servers have ended. On a busy machine this process notices it later than this result.
  await eventually(() => ![...sockets].some(({ localPort }) => localPort !== undefined && cut.has(localPort)))
  // The pool removes a connection a turn of the event loop after it closed.
  for (let turn = 0; turn < 3; turn++) await nextTurn()
}
