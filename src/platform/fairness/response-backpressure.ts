/** Pending response bytes: all share a budget, the lists of one account have a part of it, and stalled connections are closed. docs/limits.md. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'

export const RESPONSE_BUFFER_BYTES = 64 * 1024 * 1024
/** From this many pending bytes on, new lists of the account wait. */
const MAX_OF_ONE = 16 * 1024 * 1024
/** A connection that accepted no bytes for this long is closed. */
const MAX_STALL_MS = 20_000
/** A shorter response on an empty connection fits into the socket buffer. */
const SHORT = 16 * 1024
/** A longer response is sent in pieces of this size, to see whether the client reads. */
const PIECE = 64 * 1024
const AS_BYTES = { objectMode: false, highWaterMark: PIECE }

type ConnectionBacklog = { socket: Socket; movedAt: number; answers: Set<PendingResponse> }
type PendingResponse = { line: ConnectionBacklog; owner: string; bytes: number }

export type ResponseBuffers = {
  /** Tracks a response for `owner` (an account or an address) and returns the body to send. */
  track(request: IncomingMessage, response: ServerResponse, owner: string, body: Buffer): Buffer | Readable
  hasCapacity(owner: string): boolean
  bytes(): number
}

export type ResponseBufferOptions = {
  budget?: number
  maxStallMs?: number
  /** Called when a response was sent or aborted. */
  onDrained?: () => void
  /** Called when a stalled connection was closed. */
  onStalled?: () => void
}

/** Tracks pending responses. Above the budget, closes the most stalled connection of the account with the most pending bytes. */
export function createResponseBuffers(rules: ResponseBufferOptions = {}): ResponseBuffers {
  const { budget = RESPONSE_BUFFER_BYTES, maxStallMs = MAX_STALL_MS } = rules
  const lines = new Map<Socket, ConnectionBacklog>()
  const owed = createByteCounts()
  const drop = (response: PendingResponse) => {
    if (!response.line.answers.delete(response)) return
    owed.add(response.owner, -response.bytes)
    if (owed.all() === 0) watch.stop()
    rules.onDrained?.()
  }
  const forget = (line: ConnectionBacklog) => {
    lines.delete(line.socket)
    line.answers.forEach(drop)
  }
  const end = (line: ConnectionBacklog) => {
    forget(line)
    line.socket.destroy()
    rules.onStalled?.()
  }
  const watch = createInterval(Math.min(1000, maxStallMs / 4), () => {
    const before = performance.now() - maxStallMs
    for (const line of lines.values()) if (line.answers.size > 0 && line.movedAt < before) end(line)
  })
  const keepWithin = (newest: ConnectionBacklog) => {
    while (owed.all() > budget) {
      const others = [...lines.values()].filter((line) => line !== newest && line.answers.size > 0)
      if (others.length === 0) return
      end(mostStalled(others, owed.most()))
    }
  }

  return {
    bytes: owed.all,
    hasCapacity: (owner) => owed.of(owner) < MAX_OF_ONE,
    track({ socket }, response, owner, body) {
      if (body.length < SHORT && response.socket !== null && !(socket.writableLength > 0)) return body
      const line = lineOf(lines, socket, forget)
      const pending = { line, owner, bytes: body.length }
      line.answers.add(pending)
      owed.add(owner, pending.bytes)
      watch.start()
      response.once('finish', () => {
        line.movedAt = performance.now()
        drop(pending)
      })
      keepWithin(line)
      return body.length <= 2 * PIECE ? body : Readable.from(piecesOf(body, line), AS_BYTES)
    },
  }
}

/** Repeats work while started. Does not keep the process alive. */
function createInterval(everyMs: number, work: () => void) {
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      timer ??= setInterval(work, everyMs).unref()
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

function createByteCounts() {
  const owed = new Map<string, number>()
  let all = 0
  return {
    all: () => all,
    of: (owner: string) => owed.get(owner) ?? 0,
    most: () => [...owed].reduce((most, next) => (next[1] > most[1] ? next : most))[0],
    add(owner: string, bytes: number) {
      all += bytes
      const sum = (owed.get(owner) ?? 0) + bytes
      if (sum === 0) owed.delete(owner)
      else owed.set(owner, sum)
    },
  }
}

function lineOf(
  lines: Map<Socket, ConnectionBacklog>,
  socket: Socket,
  forget: (line: ConnectionBacklog) => void,
): ConnectionBacklog {
  const previous = lines.get(socket)
  const line = previous ?? { socket, movedAt: 0, answers: new Set() }
  if (line.answers.size === 0) line.movedAt = performance.now()
  if (previous !== undefined) return previous
  lines.set(socket, line)
  socket.once('close', () => forget(line))
  return line
}

function* piecesOf(body: Buffer, line: ConnectionBacklog): Generator<Buffer> {
  for (let at = 0; at < body.length; at += PIECE) {
    line.movedAt = performance.now()
    yield body.subarray(at, at + PIECE)
  }
}

/** Returns the connection stalled for longest, among those of `owner` if there are any. */
function mostStalled(lines: ConnectionBacklog[], owner: string): ConnectionBacklog {
  const own = lines.filter(({ answers }) => [...answers].some((answer) => answer.owner === owner))
  return (own.length > 0 ? own : lines).reduce((oldest, line) => (line.movedAt < oldest.movedAt ? line : oldest))
}
