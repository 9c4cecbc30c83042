/** How a server stops: the door first, then who is inside, one answer after another. docs/operations.md: The listener closes first. */
import { Server } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'

/** The platform lets in one connection a turn; those that are left at the door when it closes are cut off. */
const TURNS_AT_THE_DOOR = 100
const LONGEST_AT_THE_DOOR_MS = 500

/**
 * Takes no new connection, and resolves when all requests are answered and all connections gone. `whenClosed` is called once the
 * door is, and waited for: answers may say `connection: close` from then on, and no sooner, for who is told so connects anew.
 * Open connections stay for `graceMs` for requests that are on their way on them.
 */
export async function emptyServer(
  app: FastifyInstance,
  graceMs: number,
  whenClosed: () => Promise<void>,
): Promise<void> {
  const openCount = await closeDoor(app)
  const rest = whenClosed()
  await sleep(graceMs)
  app.server.closeIdleConnections()
  await Promise.all([openCount.everyone, rest])
  await app.close().catch(passWhenStopped)
}

/**
 * Lets in who waits at the door, closes it, and leaves who is inside alone: the server framework, and the platform's HTTP
 * server, would close what looks idle at the same moment, and with it a connection whose first request was not read yet.
 */
async function closeDoor({ server }: FastifyInstance): Promise<{ everyone: Promise<void> }> {
  if (!server.listening) return { everyone: Promise.resolve() }
  const end = performance.now() + LONGEST_AT_THE_DOOR_MS
  for (let turn = 0; turn < TURNS_AT_THE_DOOR && performance.now() < end; turn++) await nextTurn()
  return { everyone: new Promise((resolve) => Server.prototype.close.call(server, () => resolve())) }
}

/** The framework closes the door too, which is closed. */
function passWhenStopped(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ERR_SERVER_NOT_RUNNING') throw error
}
