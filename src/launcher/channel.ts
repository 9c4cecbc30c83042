/** Connections to the sites server: one for messages, and one for each request at a time. docs/functions.md: Launcher. */
import { connect, type Socket } from 'node:net'
import type { LauncherMessage, LauncherOrder } from './protocol.ts'

export type Channel = {
  send(message: LauncherMessage): void
  /** Calls back for each order. */
  onOrder(take: (order: LauncherOrder) => void): void
}

/** Dials the connection for messages. The process ends with it: nothing else could end a function whose sites server is gone. */
export function openChannel(path: string): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    socket.once('error', reject)
    socket.once('close', () => process.exit(0))
    socket.once('connect', () => {
      socket.off('error', reject)
      socket.on('error', () => {})
      resolve({
        send: (message) => void socket.write(`${JSON.stringify(message)}\n`),
        onOrder: (take) => readOrders(socket, take),
      })
    })
  })
}

function readOrders(socket: Socket, take: (order: LauncherOrder) => void): void {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (text + piece).split('\n')
    text = lines.pop()!
    for (const line of lines) take(JSON.parse(line) as LauncherOrder)
  })
}

/** TABLE where requests come from, for frameworks that trust the headers of a proxy by its address. */
const PEER = { remoteAddress: '127.0.0.1', remoteFamily: 'IPv4', remotePort: 3000 }

/** Dials a connection on which the sites server sends requests. */
export function dial(path: string, take: (socket: Socket) => void): void {
  const socket = connect(path)
  for (const [name, value] of Object.entries(PEER)) Object.defineProperty(socket, name, { value, configurable: true })
  // What the server on it does not see: the sites server is gone, and the channel says so.
  socket.on('error', () => {})
  socket.once('connect', () => take(socket))
}
