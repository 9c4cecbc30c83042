/** HTTP over connections that a function dials: it listens nowhere. docs/functions.md: Connections. */
import type { Server, Socket } from 'node:net'
import { type Dispatcher, Pool } from 'undici'
import type { LauncherMessage, LauncherOrder } from '../../launcher/protocol.ts'
import { readPaced } from '../../platform/fairness/pace.ts'
import { unitsOf } from './log-lines.ts'
import { type Owe, pacedPieces } from './pace/function-pace.ts'

/** Requests of one process at the same time. */
const MAX_REQUESTS = 256
/** Connections that were dialed and not asked for. */
const MAX_SPARE = 4
const MAX_MESSAGE = 4096
/** Between requests. */
const IDLE_MS = 10 * 60_000
const MAX_HEADER_BYTES = 64 * 1024

export type Connections = {
  /** Sends requests, each on a connection of its own at that time. */
  pool: Dispatcher
  order(order: LauncherOrder): void
  /** Closes all connections, and the socket. */
  close(): void
}

/** Accepts the connections of one process. The first carries messages, all others requests. `owe`: how many ms it waits after what came. */
export function acceptConnections(server: Server, take: (message: LauncherMessage) => void, owe: Owe): Connections {
  const sockets = new Set<Socket>()
  const spare: Socket[] = []
  const waiting: ((socket: Socket) => void)[] = []
  let channel: Socket | undefined
  const order = (order: LauncherOrder) => void channel?.write(`${JSON.stringify(order)}\n`)
  server.on('connection', (socket) => {
    if (sockets.size > MAX_REQUESTS + MAX_SPARE) return void socket.destroy()
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => {
      sockets.delete(socket)
      if (spare.includes(socket)) spare.splice(spare.indexOf(socket), 1)
    })
    if (channel === undefined) {
      channel = socket
      return readMessages(socket, take, owe.text)
    }
    const next = waiting.shift()
    if (next !== undefined) next(socket)
    else if (spare.length < MAX_SPARE) spare.push(socket)
    else socket.destroy()
  })
  const pool = new Pool('http://function', {
    connections: MAX_REQUESTS,
    pipelining: 1,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    // The whole request has a limit of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: (_, callback) => {
      const there = spare.shift()
      if (there !== undefined) return callback(null, there)
      waiting.push((socket) => callback(null, socket))
      order({ kind: 'dial' })
    },
  })
  return {
    pool: pool.compose(pacedPieces(owe.pieces)),
    order,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      void pool.destroy()
    },
  }
}

function readMessages(socket: Socket, take: (message: LauncherMessage) => void, owe: Owe['text']): void {
  let held = ''
  const read = (piece: string) => {
    const lines = (held + piece).split('\n')
    held = lines.pop()!
    const messages = lines.map(parsed)
    if (held.length > MAX_MESSAGE || messages.includes(undefined)) socket.destroy()
    else for (const message of messages) take(message!)
    return unitsOf(lines.length, piece.length)
  }
  readPaced(socket, read, owe)
}

/** A function can write there what it likes. */
function parsed(line: string): LauncherMessage | undefined {
  try {
    const message = JSON.parse(line) as Partial<Extract<LauncherMessage, { kind: 'pending' }>>
    if (message.kind === 'pending')
      return Number.isSafeInteger(message.count) ? (message as LauncherMessage) : undefined
    return typeof message.kind === 'string' ? (message as LauncherMessage) : undefined
  } catch {
    return undefined
  }
}
