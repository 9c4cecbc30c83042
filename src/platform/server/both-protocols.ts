/** TLS and plain HTTP on one port, distinguished by the first byte: 22 begins a handshake (RFC 8446 5.1) and no method. docs/tls.md: Local use. */
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

/** Most handshakes in progress. Each needs up to a millisecond of this thread; a client starts 50 at once when it uploads files. */
const MAX_HANDSHAKES = 128

type Begin = (socket: Socket) => void
type Rules = Pick<Deps, 'log' | 'shutdownSignal'> & {
  certificate: () => Promise<LocalCertificate>
  timeoutMs?: number
}

/** Enables TLS on the server of a laptop. */
export function takeTlsOnLaptop(server: Server, deps: Pick<Deps, 'config' | 'log' | 'shutdownSignal'>): void {
  const names = localNames(deps.config)
  if (names === undefined) return
  takeBothProtocols(server, { ...deps, certificate: openLocalCertificate(deps.config, names) })
}
/**
 * Enables TLS on a server of plain HTTP, with a certificate requested at the first handshake. Call it after the readers of connections listen and
 * before the connection limits. A plain connection has `timeoutMs` for its first head. A TLS connection has that long for its first byte, then the
 * limits of https. `secureConnection` is emitted as usual.
 */
export function takeBothProtocols(
  server: Server,
  { log, shutdownSignal, certificate, timeoutMs = HTTP_LIMITS.headersTimeout }: Rules,
): void {
  const readers = server.listeners('connection') as Begin[]
  server.removeAllListeners('connection')
  server.removeAllListeners('secureConnection')
  const begin: Begin = (socket) => {
    for (const read of readers) read.call(server, socket)
  }
  const silent = new Set<Socket>()
  const deleteFirst = boundFirstHeads(server, timeoutMs)
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
  // Neither has a request in flight.
  const endSilent = () => {
    for (const socket of silent) socket.destroy()
    handshakes.end()
  }
  shutdownSignal.addEventListener('abort', () => setTimeout(endSilent, 1000).unref())
}

function onFirstBytes(socket: Socket, heard: (bytes: Buffer) => void): void {
  const end = () => socket.destroy()
  // The reader of the connection has its own listeners.
  socket.on('error', passOver)
  socket.once('end', end)
  socket.once('data', (bytes: Buffer) => {
    socket.off('end', end)
    heard(bytes)
  })
}

function passOver(): void {}

/** Sends 408 to connections without a complete first head in time. Returns the function that exempts one. */
function boundFirstHeads(server: Server, timeoutMs: number): (socket: Socket) => void {
  const since = new Map<Socket, number>()
  const endLate = () => {
    const latest = performance.now() - timeoutMs
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
    const timer = setInterval(endLate, Math.min(HTTP_LIMITS.connectionsCheckingInterval, timeoutMs)).unref()
    server.on('close', () => clearInterval(timer))
  })
  return forget
}

/** Starts one handshake per event loop iteration, round-robin by address, so that a burst does not delay requests. */
function openHandshakes(log: Deps['log'], certificate: Rules['certificate'], onSecured: Begin) {
  const waiting = createFairQueue<Socket>()
  let isRunning = false
  let lastMessage = ''
  const { serverWith, end } = openTlsServer(onSecured)
  const fail = (error: unknown) => {
    const message = describeError(error)
    if (message !== lastMessage) log.warn(`no TLS on this port, because its certificate cannot be stored: ${message}`)
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

/** Creates a server without a port; connections are passed to it. */
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
