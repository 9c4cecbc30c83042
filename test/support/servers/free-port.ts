/** Ports for programs that cannot pick a free one. */
import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that systems assign to connections: one of those might take the port before the program does. */
const [FIRST, LAST] = [20_000, 32_000]

/** Returns a port without a TCP or UDP listener. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST)
    const isFree = await Promise.all([
      bound(createServer().listen(port, '127.0.0.1')),
      bound(createSocket('udp4').bind(port, '127.0.0.1')),
    ])
    if (isFree.every((one) => one)) return port
  }
}

/** Returns whether the listener starts, and closes it. */
async function bound(socket: ReturnType<typeof createServer> | ReturnType<typeof createSocket>): Promise<boolean> {
  try {
    await once(socket, 'listening')
  } catch {
    return false
  }
  socket.close()
  await once(socket, 'close')
  return true
}
