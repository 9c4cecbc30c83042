/**
 * Processes the requests of a connection in order (RFC 9112 9.3.2) and reads all connections in small slices. Node.js alone parses and starts all
 * pipelined requests at once, even of a closed connection: 4 KB caused a hundred responses. docs/limits.md: Connections.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { afterNextTick, iterationMs } from '../base/event-loop.ts'
import { createFairQueue } from '../fairness/fair-queue.ts'
import { PacedRequest } from './paced-request.ts'

/** Bytes parsed at once, at most to the end of a head: the next request or the body follows. */
const SLICE_BYTES = 2048
const END_OF_HEAD = '\r\n\r\n'

/** After an iteration this busy, the rest of a read waits for a later one; after the longest, all of it. */
const MAX_REST_MS = 5
const MAX_MS = 25

/** Reading pauses above this many unparsed bytes. Up to there it continues, to notice the end of the connection. */
const MAX_HELD = 16 * 1024

type Exchange = [request: IncomingMessage, response: ServerResponse]

/**
 * State of a connection: its newest request, whether that is running, the bytes left of a body with a known length, and unparsed bytes. `readOn`
 * continues, `readOnSoon` does so in the next iteration, `readOnInTurn` in the fair queue of addresses, so that pipelined requests wait behind single
 * ones.
 */
type Line = {
  newest?: IncomingMessage
  isBusy: boolean
  ofBody: number
  held: Buffer
  readOn(): void
  readOnSoon(): void
  readOnInTurn(): void
}

/**
 * Stops parsing after a complete request until its response has left the connection open. Call it after the request listener is added, on a server
 * with `requireHostHeader` off: requests that Node.js rejects on its own reach no listener. They get 400 here.
 */
export function answerOneAtATime(server: Server): void {
  const answers = server.listeners('request') as ((...exchange: Exchange) => void)[]
  server.removeAllListeners('request')
  const lines = new WeakMap<Socket, Line>()
  const parse = (socket: Socket) => lines.set(socket, parseInSlices(socket))
  server.on('connection', parse)
  server.on('secureConnection', parse)
  server.on('request', (...exchange: Exchange) => {
    const [newest, response] = exchange
    const line = lines.get(newest.socket)!
    // A slice never contains two requests.
    if (line.isBusy) return void newest.socket.destroy()
    hasBegun = true
    // Its head was the end of a slice.
    Object.assign(line, { newest, isBusy: true, ofBody: Number(newest.headers['content-length'] ?? 0) })
    // A closure of this scope would retain the response for as long as the connection.
    if (newest instanceof PacedRequest) newest.onLetGo = line.readOnSoon
    response.once('close', () => {
      line.isBusy = false
      if (response.shouldKeepAlive && line.held.length > 0) line.readOnInTurn()
    })
    if (isHostMissing(newest)) response.writeHead(400, { connection: 'close' }).end()
    else for (const answer of answers) answer.apply(server, exchange)
  })
}

/** RFC 9112 3.2: an HTTP/1.1 request without it gets 400. */
function isHostMissing({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1'
}

const NOTHING = Buffer.alloc(0)

/** Parses incoming bytes in slices, when allowed, and none after the connection closed. */
function parseInSlices(socket: Socket): Line {
  const place = createTurn(socket, readOn)
  const line: Line = {
    ...{ isBusy: false, ofBody: 0, held: NOTHING },
    ...{ readOn, readOnSoon: () => setImmediate(readOn), readOnInTurn: place.take },
  }
  const parse = socket.listeners('data')[0] as ((bytes: Buffer) => void) | undefined
  if (parse === undefined) return line
  let isLeft = false
  /** The last parsed bytes, where the end of a head or of a chunked body may straddle slices. */
  let end: Buffer = NOTHING

  function readOn(): void {
    // After the last response, drop the input: unread bytes would hide that the client closed.
    if (!socket.writable) line.held = NOTHING
    for (let isFirst = true; line.held.length > 0 && socket.writable; isFirst = false) {
      if (place.isTaken() || isFull(socket) || (line.isBusy && (line.newest!.complete || isHeld(line.newest!)))) break
      if (isLate(isFirst)) {
        place.take()
        break
      }
      const { ofBody, held } = line
      const [size, begun] = ofBody > 0 ? [Math.min(ofBody, held.length), NOTHING] : sliceOf(held, end)
      line.ofBody = Math.max(0, ofBody - size)
      line.held = held.subarray(size)
      end = begun
      parse!(held.subarray(0, size))
    }
    const leaves = line.held.length > MAX_HELD
    if (leaves) socket.pause()
    else if (isLeft && !isFull(socket)) socket.resume()
    isLeft = leaves
  }

  socket.off('data', parse)
  socket.on('data', (bytes: Buffer) => {
    line.held = line.held.length === 0 ? bytes : Buffer.concat([line.held, bytes])
    readOn()
  })
  // Emitted by Node.js after sent responses.
  socket.on('resume', line.readOnSoon)
  socket.on('finish', readOn)
  return line
}

/** At most one place of a connection in the fair queue. */
function createTurn(socket: Socket, readOn: () => void) {
  let isTaken = false
  return {
    isTaken: () => isTaken,
    take() {
      if (isTaken) return
      isTaken = true
      readLater(socket, () => {
        isTaken = false
        readOn()
      })
    },
  }
}

/** Whether responses wait for the client: Node.js resumes after they are sent, and asserts that nothing is parsed before. */
function isFull(socket: Socket): boolean {
  return (socket as Socket & { _paused?: boolean })._paused === true
}

/** A file waiting for its turn: many small chunks would take far more memory than their bytes. */
function isHeld(request: IncomingMessage): boolean {
  return request instanceof PacedRequest && request.isHeld()
}

/** Returns the size of the next slice and its last bytes, if it may end within a delimiter. `before`: the last bytes before. */
function sliceOf(bytes: Buffer, before: Buffer): [size: number, end: Buffer] {
  const max = bytes.subarray(0, SLICE_BYTES)
  const seen = before.length === 0 ? max : Buffer.concat([before, max])
  const at = seen.indexOf(END_OF_HEAD)
  if (at === -1) return [max.length, Buffer.from(seen.subarray(1 - END_OF_HEAD.length))]
  return [at + END_OF_HEAD.length - before.length, NOTHING]
}

/** Fair queue of connections with unread bytes, by address. */
const waiting = createFairQueue<() => void>()
let isRunning = false
/** Start of queued reading in this iteration. */
let since: number | undefined
/**
 * Whether one of them began a request. One is enough: a write of another client on PostgreSQL is a dozen messages, and each waits for the end of an
 * iteration.
 */
let hasBegun = false

/** Whether a read belongs to a later iteration. One that had its turn advances by at least a slice. */
function isLate(isFirst: boolean): boolean {
  if (since === undefined) return iterationMs() >= (isFirst ? MAX_MS : MAX_REST_MS)
  return !isFirst && performance.now() - since >= MAX_REST_MS
}

function readLater(socket: Socket, readOn: () => void): void {
  waiting.push(socket.remoteAddress ?? '', readOn)
  if (isRunning) return
  isRunning = true
  void readWaiting()
}

async function readWaiting(): Promise<void> {
  while (waiting.size() > 0) {
    await nextIteration()
    since = performance.now()
    hasBegun = false
    do {
      waiting.shift()!()
      await afterNextTick()
    } while (waiting.size() > 0 && !hasBegun && performance.now() - since < MAX_REST_MS)
    since = undefined
  }
  isRunning = false
}
