/** How a server stops: it takes no new connection, then it answers the requests that it has, then it closes. docs/operations.md: The listener closes first. */
import type { ServerResponse } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { exitWithError } from '../base/log.ts'

/** The platform accepts one connection in each turn of the event loop. Those that wait when the listener closes are cut off. */
const TURNS_TO_ACCEPT = 100
const MAX_ACCEPT_MS = 500

/** A server, and what closes whatever else listens with it. */
type Closable = { server: Server & { closeIdleConnections(): void }; close(): Promise<unknown> }

/**
 * Takes no new connection, and resolves when all requests are answered and all connections are closed. `whenClosed` is called, and
 * awaited, when the listener is closed. Only then may answers say `connection: close`, because a client that reads it connects anew.
 * Open connections stay for `graceMs`, for requests that are on their way on them. Then `endRest` may end more than those that are idle.
 */
export async function drainServer(
  app: Closable,
  { graceMs, endRest = () => {} }: { graceMs: number; endRest?: (() => void) | undefined },
  whenClosed: () => Promise<void>,
): Promise<void> {
  const connections = await closeListener(app)
  const rest = whenClosed()
  await sleep(graceMs)
  app.server.closeIdleConnections()
  endRest()
  await Promise.all([connections.allClosed, rest])
  await app.close().catch(passWhenStopped)
}

/**
 * Accepts the connections that wait, closes the listener, and leaves open connections as they are. The server framework and the HTTP
 * server of the platform would also close what looks idle, and with it a connection whose first request was not read yet.
 */
async function closeListener({ server }: Closable): Promise<{ allClosed: Promise<void> }> {
  if (!server.listening) return { allClosed: Promise.resolve() }
  const end = performance.now() + MAX_ACCEPT_MS
  for (let turn = 0; turn < TURNS_TO_ACCEPT && performance.now() < end; turn++) await nextTurn()
  return { allClosed: new Promise((resolve) => Server.prototype.close.call(server, () => resolve())) }
}

/** The framework closes the listener too, which is closed already. */
function passWhenStopped(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_SERVER_NOT_RUNNING') throw error
}

/**
 * Watches the connections of a server that listens on the loopback address, where the port of the other side names a connection.
 * `endUnread` ends those that wait for the rest of a request. Nothing of such a request was done. Requests that are being worked on, and
 * answers that are leaving, stay.
 */
export function trackConnections(server: Server): { endUnread(): void } {
  const open = new Map<number, { socket: Socket; answer?: ServerResponse }>()
  server.on('connection', (socket) => {
    const port = socket.remotePort
    // It is gone already.
    if (port === undefined) return
    open.set(port, { socket })
    socket.once('close', () => open.delete(port))
  })
  server.on('request', (_: unknown, answer: ServerResponse) => {
    const connection = open.get(answer.req.socket.remotePort ?? 0)
    if (connection !== undefined) connection.answer = answer
  })
  return {
    endUnread() {
      for (const { socket, answer } of open.values())
        if (answer === undefined || !answer.req.complete || answer.writableFinished) socket.destroy()
    },
  }
}

/** The most that requests in flight may take once the process was told to stop. */
const MAX_STOP_MS = 9000

/** Has SIGTERM and SIGINT close what runs, and then end the process with 0. Gives what does the same for another reason. */
export function endAtSignals(log: Logger, close: () => Promise<void>): (reason: string) => void {
  let stopping = false
  const stop = (signal: string) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    setTimeout(() => {
      log.warn('requests in flight did not end in time')
      process.exit(0)
    }, MAX_STOP_MS).unref()
    close().then(
      () => process.exit(0),
      (error) => exitWithError(log, error, 'could not stop in order'),
    )
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  return stop
}
