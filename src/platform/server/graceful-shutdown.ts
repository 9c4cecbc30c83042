/** Stops a server: no new connections, finish requests, close. docs/operations.md: The listener closes first. */
import type { ServerResponse } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { exitWithError } from '../base/log.ts'

/** Node.js accepts one connection per event loop turn; connections still queued when the listener closes are reset. */
const TURNS_TO_ACCEPT = 100
const MAX_ACCEPT_MS = 500

/** A server, and a function that closes everything else that listens with it. */
type Closable = { server: Server & { closeIdleConnections(): void }; close(): Promise<unknown> }

/**
 * Stops accepting and resolves when all connections are closed. Awaits `whenClosed` after the listener is closed. Only then may responses have
 * `connection: close`, because clients then reconnect. Open connections stay for `graceMs`, for requests in flight. Then `endRest` may close more
 * than the idle ones.
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
 * Accepts queued connections, then closes the listener only. Fastify and Node.js would also close idle-looking connections whose first request was
 * not read yet.
 */
async function closeListener({ server }: Closable): Promise<{ allClosed: Promise<void> }> {
  if (!server.listening) return { allClosed: Promise.resolve() }
  const end = performance.now() + MAX_ACCEPT_MS
  for (let round = 0; round < TURNS_TO_ACCEPT && performance.now() < end; round++) await nextTurn()
  return { allClosed: new Promise((resolve) => Server.prototype.close.call(server, () => resolve())) }
}

/** Fastify closes the listener too, which is closed already. */
function passWhenStopped(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_SERVER_NOT_RUNNING') throw error
}

/**
 * Tracks the connections of a server on loopback, where the peer's port identifies a connection. `endUnread` closes those with an incomplete request,
 * which has had no effect. Running requests and responses continue.
 */
export function trackConnections(server: Server): { endUnread(): void } {
  const open = new Map<number, { socket: Socket; answer?: ServerResponse }>()
  server.on('connection', (socket) => {
    const port = socket.remotePort
    // Already closed.
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

const MAX_STOP_MS = 9000

/** Closes the service on SIGTERM and SIGINT, then exits with 0. Returns a function that does so for another reason. */
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
