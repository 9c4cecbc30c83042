/**
 * The requests of a connection, one after another (RFC 9112 9.3.2), and what is read of all connections, a little at a time. By itself the
 * platform parses and begins all that was sent ahead at once, also for a client that has gone: 4 KB of a stranger were a hundred answers.
 * docs/limits.md: Connections.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { afterNextTick, iterationMs } from '../base/event-loop.ts'
import { createFairQueue } from '../fairness/fair-queue.ts'
import { PacedRequest } from './paced-request.ts'

/** So much is parsed at once, and at most to the end of a head: what follows it is another request, or the body of this one. */
const SLICE_BYTES = 2048
const END_OF_HEAD = '\r\n\r\n'

/** Once an iteration of the event loop has been busy for so long, the rest of a read is for one of the next; after the longest, all of it. */
const MAX_REST_MS = 5
const MAX_MS = 25

/** A connection of which more was read that may not be parsed yet is not read on; up to there it is, for it may end. */
const MAX_HELD = 16 * 1024

type Exchange = [request: IncomingMessage, response: ServerResponse]

/**
 * What a connection says: its newest request, whether that is being answered, how many bytes of its body are still to come, where it said how
 * many there are, and what was read and is not parsed yet. `readOn` goes on with it, `readOnSoon` in the next iteration of the
 * event loop, `readOnInTurn` when it is the turn of its address: what was sent ahead waits for whoever asks one request after another.
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
 * Has a server parse nothing behind a whole request until that is answered and has left the connection open. To be called once the server
 * has the listener that answers, on one that takes requests without `Host` (`requireHostHeader`): those that the platform refuses by itself
 * are seen by nobody. They are 400 here.
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
    // No slice holds two of them.
    if (line.isBusy) return void newest.socket.destroy()
    hasBegun = true
    // Its head was the end of a slice.
    Object.assign(line, { newest, isBusy: true, ofBody: Number(newest.headers['content-length'] ?? 0) })
    // No function of this scope: it would keep the answer for as long as the connection.
    if (newest instanceof PacedRequest) newest.onLetGo = line.readOnSoon
    response.once('close', () => {
      line.isBusy = false
      if (response.shouldKeepAlive && line.held.length > 0) line.readOnInTurn()
    })
    if (isHostMissing(newest)) response.writeHead(400, { connection: 'close' }).end()
    else for (const answer of answers) answer.apply(server, exchange)
  })
}

/** RFC 9112 3.2: of HTTP/1.1 a request without it is 400. */
function isHostMissing({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion === '1.1'
}

const NOTHING = Buffer.alloc(0)

/** Has what is read parsed piece by piece, when it may be, and no more of it once the connection is closed. */
function parseInSlices(socket: Socket): Line {
  const turn = openTurn(socket, readOn)
  const line: Line = {
    ...{ isBusy: false, ofBody: 0, held: NOTHING },
    ...{ readOn, readOnSoon: () => setImmediate(readOn), readOnInTurn: turn.take },
  }
  const parse = socket.listeners('data')[0] as ((bytes: Buffer) => void) | undefined
  if (parse === undefined) return line
  let isLeft = false
  /** The last bytes that were parsed, where a head or a body in chunks may end with those that come. */
  let end: Buffer = NOTHING

  function readOn(): void {
    // Whoever was answered for the last time is only waited for: what is not read hides that the other side has closed.
    if (!socket.writable) line.held = NOTHING
    for (let isFirst = true; line.held.length > 0 && socket.writable; isFirst = false) {
      if (turn.isTaken() || isFull(socket) || (line.isBusy && (line.newest!.complete || isHeld(line.newest!)))) break
      if (isLate(isFirst)) {
        turn.take()
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
  // By the platform, for answers that have left.
  socket.on('resume', line.readOnSoon)
  socket.on('finish', readOn)
  return line
}

/** A place among the connections that are read on in turn: one at the most. */
function openTurn(socket: Socket, readOn: () => void) {
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

/** Answers wait to be read: the platform reads on when they have left, and asserts that nothing is parsed until then. */
function isFull(socket: Socket): boolean {
  return (socket as Socket & { _paused?: boolean })._paused === true
}

/** A file that waits for its turn: what comes of it in many chunks would take far more than its bytes. */
function isHeld(request: IncomingMessage): boolean {
  return request instanceof PacedRequest && request.isHeld()
}

/** How many bytes come next, and their last ones if nothing ends with them. `before`: the last ones before. */
function sliceOf(bytes: Buffer, before: Buffer): [size: number, end: Buffer] {
  const most = bytes.subarray(0, SLICE_BYTES)
  const seen = before.length === 0 ? most : Buffer.concat([before, most])
  const at = seen.indexOf(END_OF_HEAD)
  if (at === -1) return [most.length, Buffer.from(seen.subarray(1 - END_OF_HEAD.length))]
  return [at + END_OF_HEAD.length - before.length, NOTHING]
}

/** Connections of which more was read than there was time for, by address: who has many waits behind its own. */
const waiting = createFairQueue<() => void>()
let isRunning = false
/** Since when those that waited are read on in this iteration. */
let since: number | undefined
/**
 * Whether one of them began a request. One is enough: a write of somebody else on PostgreSQL is a dozen messages, and each waits for the end of an
 * iteration.
 */
let hasBegun = false

/** Whether what was read is for a later iteration. One that has waited for its turn goes on by at least a slice. */
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
