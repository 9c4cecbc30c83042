/**
 * TLS beside plain HTTP on one port, told apart by the first byte of a connection: 22 begins a handshake (RFC 8446 5.1) and no method.
 * docs/tls.md: On a laptop.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { createServer, type Server as TlsServer } from 'node:tls'
import type { Deps } from '../../context.ts'
import { describeError } from '../adapters/file-errors.ts'
import { createFairQueue } from '../fairness/fair-queue.ts'
import { type LocalCertificate, localNames, openLocalCertificate } from '../tls/local-certificate.ts'
import { boundHandshakes, secureOptions } from '../tls/tls.ts'
import { HTTP_LIMITS } from './http-limits.ts'

const HANDSHAKE = 22

/**
 * Handshakes that are begun and not finished. Each may ask for about a millisecond of this thread in one iteration of the event loop; a
 * client begins 50 at once when it uploads files.
 */
const MAX_HANDSHAKES = 128

type Begin = (socket: Socket) => void
type Rules = Pick<Deps, 'log' | 'shutdownSignal'> & {
  certificate: () => Promise<LocalCertificate>
  patienceMs?: number
}

/** Has the server of a laptop speak TLS too; leaves any other as it is. */
export function takeTlsOnLaptop(server: Server, deps: Pick<Deps, 'config' | 'log' | 'shutdownSignal'>): void {
  const names = localNames(deps.config)
  if (names === undefined) return
  takeBothProtocols(server, { ...deps, certificate: openLocalCertificate(deps.config, names) })
}

/**
 * Has a server of plain HTTP speak TLS too, with the certificate that it asks for at the first handshake. To be called once all that reads
 * connections listens, and before what counts them. A connection has `patienceMs` from its beginning to the end of its first head in plain
 * HTTP; one of TLS has as long for its first byte, then what listeners of https have. `secureConnection` is emitted as by those.
 */
export function takeBothProtocols(
  server: Server,
  { log, shutdownSignal, certificate, patienceMs = HTTP_LIMITS.headersTimeout }: Rules,
): void {
  const readers = server.listeners('connection') as Begin[]
  server.removeAllListeners('connection')
  server.removeAllListeners('secureConnection')
  const begin: Begin = (socket) => {
    for (const read of readers) read.call(server, socket)
  }
  const silent = new Set<Socket>()
  const deleteFirst = boundFirstHeads(server, patienceMs)
  const handshakes = openHandshakes(log, certificate, (socket) => {
    begin(socket)
    server.emit('secureConnection', socket)
  })
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
    onFirstBytes(socket, (bytes) => {
      silent.delete(socket)
      if (bytes[0] === HANDSHAKE) {
        deleteFirst(socket)
        socket.pause()
        socket.unshift(bytes)
        handshakes.push(socket)
      } else {
        begin(socket)
        socket.emit('data', bytes)
      }
    })
  })
  // Neither has a request on its way.
  const endSilent = () => {
    for (const socket of silent) socket.destroy()
    handshakes.end()
  }
  shutdownSignal.addEventListener('abort', () => setTimeout(endSilent, 1000).unref())
}

function onFirstBytes(socket: Socket, heard: (bytes: Buffer) => void): void {
  const end = () => socket.destroy()
  // What reads the connection has listeners of its own.
  socket.on('error', passOver)
  socket.once('end', end)
  socket.once('data', (bytes: Buffer) => {
    socket.off('end', end)
    heard(bytes)
  })
}

function passOver(): void {}

/** Answers 408 to connections whose first head is not whole in time. Gives what takes one out of that. */
function boundFirstHeads(server: Server, patienceMs: number): (socket: Socket) => void {
  const since = new Map<Socket, number>()
  const endLate = () => {
    const latest = performance.now() - patienceMs
    for (const [socket, from] of since) {
      if (from > latest) break
      const error = Object.assign(new Error('no head in time'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      if (!server.emit('clientError', error, socket)) socket.destroy()
    }
  }
  const forget = (socket: Socket) => void since.delete(socket)
  server.on('connection', (socket: Socket) => {
    since.set(socket, performance.now())
    socket.once('close', () => forget(socket))
  })
  server.on('request', ({ socket }) => forget(socket))
  server.on('listening', () => {
    const looking = setInterval(endLate, Math.min(HTTP_LIMITS.connectionsCheckingInterval, patienceMs)).unref()
    server.on('close', () => clearInterval(looking))
  })
  return forget
}

/** Begins one handshake in each iteration of the event loop, addresses in turn, so that requests do not wait behind a burst of them. */
function openHandshakes(log: Deps['log'], certificate: Rules['certificate'], onSecured: Begin) {
  const waiting = createFairQueue<Socket>()
  let isRunning = false
  let lastMessage = ''
  const { serverWith, end } = openTlsServer(onSecured)
  const fail = (error: unknown) => {
    const message = describeError(error)
    if (message !== lastMessage) log.warn(`no TLS on this port, because its certificate cannot be kept: ${message}`)
    lastMessage = message
  }
  const run = async () => {
    while (waiting.size() > 0) {
      await nextIteration()
      const pair = await certificate().catch(fail)
      const socket = waiting.shift()
      if (pair === undefined) socket?.destroy()
      else if (socket?.destroyed === false) serverWith(pair).emit('connection', socket)
    }
    isRunning = false
  }
  return {
    push(socket: Socket) {
      waiting.push(socket.remoteAddress ?? '', socket)
      if (isRunning) return
      isRunning = true
      void run()
    },
    end() {
      for (let socket = waiting.shift(); socket !== undefined; socket = waiting.shift()) socket.destroy()
      end()
    },
  }
}

/** A server that listens nowhere: it is given connections. */
function openTlsServer(onSecured: Begin) {
  let server: TlsServer | undefined
  let used: LocalCertificate | undefined
  let end = () => {}
  return {
    serverWith(certificate: LocalCertificate): TlsServer {
      if (server === undefined) {
        server = createServer(secureOptions(certificate), onSecured)
        server.on('tlsClientError', (_, socket) => socket.destroy())
        end = boundHandshakes(server, MAX_HANDSHAKES)
      } else if (certificate !== used) server.setSecureContext(secureOptions(certificate))
      used = certificate
      return server
    },
    end: () => end(),
  }
}
