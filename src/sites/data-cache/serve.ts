/** Serves the data cache to one process of a function. Who asks is known by the socket that was dialed, never by what is said. docs/data-cache.md: Protocol. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFrameReader, type Frame, frameBytes } from '../../launcher/frames.ts'
import { createPace, type Pace } from '../../platform/fairness/pace.ts'
import type { RenderBudget } from '../prerender/render-budget.ts'

/** Whose data it is. `account`: whose files the deployment has. */
export type DataOwner = { account: string; deploymentId: string; projectId: string; environment: string }

/** Connections of one process. */
export const MAX_CONNECTIONS = 16
/** A frame that is neither sent nor read on in this time ends its connection. */
const STALL_MS = 30_000
/** A request is one, and so is each of these bytes of it and of its answer. */
const UNIT_BYTES = 16 * 1024
/** So is each of these tags, which are hashed to be compared with purges. */
const UNIT_TAGS = 16
/** So is each of these pieces in which a request comes, whatever their size. */
const UNIT_PIECES = 25
/** Of an account in a second. */
const UNITS = 2000

/** `tags`: how many of them the answer took. */
export type ServedFrame = { head: object; body?: Buffer; tags?: number }
/** Answers one request. Undefined: it is not understood, and the connection ends. */
export type AnswerFrame = (owner: DataOwner, frame: Frame) => Promise<ServedFrame | undefined>

type Means = { answer: AnswerFrame; budget: RenderBudget; pace: Pace }

/** Creates the pace of the requests of accounts. */
export function createDataPace(): Pace {
  return createPace(UNITS, () => performance.now())
}

/** Creates what serves connections, within a budget of bytes on their way. */
export function createDataServing(answer: AnswerFrame, budget: RenderBudget, pace: Pace) {
  const means: Means = { answer, budget, pace }
  return (socket: Socket, owner: DataOwner): void => serve(means, socket, owner)
}

function serve(means: Means, socket: Socket, owner: DataOwner): void {
  const { take, giveBack, charge, chargePiece, debtMs } = holdFor(means, owner.account)
  const left = new AbortController()
  const wait = async (waitMs: number) => {
    if (waitMs > 0) await sleep(waitMs, undefined, { ref: false, signal: left.signal })
  }
  const reader = createFrameReader(take)
  let isAnswering = false
  const respond = async (frame: Frame) => {
    const { head, body, tags } = (await means.answer(owner, frame)) ?? {}
    const isTaken = take(body?.length ?? 0)
    const waitMs = charge(tags)
    if (head === undefined || !isTaken) return void socket.destroy()
    await send(socket, frameBytes(head, body))
    giveBack()
    await wait(waitMs)
    socket.setTimeout(0)
    socket.resume()
  }
  socket.on('error', () => {})
  socket.once('timeout', () => socket.destroy())
  socket.once('close', () => {
    left.abort()
    // What is being answered is in memory until then.
    if (!isAnswering) giveBack()
  })
  // A new connection waits as the others of its account do.
  if (debtMs() > 0) resumeAfter(socket, wait(debtMs()))
  socket.on('data', (piece: Buffer) => {
    socket.setTimeout(STALL_MS)
    const waitMs = chargePiece()
    const frame = reader.push(piece)
    if (frame === undefined) return waitMs > 0 ? resumeAfter(socket, wait(waitMs)) : undefined
    socket.pause()
    if (frame === 'bad') {
      charge()
      return void socket.destroy()
    }
    isAnswering = true
    respond(frame)
      .catch(() => socket.destroy())
      .finally(() => {
        isAnswering = false
        if (socket.destroyed) giveBack()
      })
  })
}

/** What one connection holds of the budget. `charge`: its account owes a request, also where the other side has left. Returns how many ms it waits. */
function holdFor({ budget, pace }: Means, account: string) {
  let held = 0
  return {
    take(bytes: number): boolean {
      if (!budget.take(account, bytes)) return false
      held += bytes
      return true
    },
    giveBack(): void {
      if (held > 0) budget.giveBack(account, held)
      held = 0
    },
    chargePiece: () => pace(account, 1 / UNIT_PIECES),
    charge: (tags = 0) => pace(account, 1 + held / UNIT_BYTES + tags / UNIT_TAGS),
    debtMs: () => pace(account, 0),
  }
}

/** Resolves once the other side has taken it. Rejects when it is gone. */
function send(socket: Socket, pieces: Buffer[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(new Error('the function has closed the connection'))
    socket.once('close', leave)
    socket.write(Buffer.concat(pieces), (error) => {
      socket.off('close', leave)
      if (error) reject(error)
      else resolve()
    })
  })
}

function resumeAfter(socket: Socket, waited: Promise<void>): void {
  socket.pause()
  waited.then(
    () => socket.resume(),
    () => {},
  )
}
