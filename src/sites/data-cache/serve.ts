/** Serves the data cache to one process of a function. Who asks is known by the socket that was dialed, never by what is said. docs/data-cache.md: Protocol. */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createFrameReader, type Frame, frameBytes } from '../../launcher/frames.ts'
import type { RenderBudget } from '../prerender/render-budget.ts'
import { createPace } from './pace.ts'

/** Whose data it is. `account`: whose files the deployment has. */
export type DataOwner = { account: string; projectId: string; environment: string }

/** Connections of one process. */
export const MAX_CONNECTIONS = 16
/** A frame that is neither sent nor read on in this time ends its connection. */
const STALL_MS = 30_000
/** A request is one, and so is each of these bytes of it and of its answer. */
const UNIT_BYTES = 16 * 1024
/** Of an account in a second. */
const UNITS = 2000

/** Answers one request. Undefined: it is not understood, and the connection ends. */
export type AnswerFrame = (owner: DataOwner, frame: Frame) => Promise<{ head: object; body?: Buffer } | undefined>

/** Creates what serves connections, within a budget of bytes on their way. */
export function createDataServing(answer: AnswerFrame, budget: RenderBudget, now: () => number) {
  const pace = createPace(UNITS, now)
  return (socket: Socket, owner: DataOwner): void => {
    const { account } = owner
    let held = 0
    const take = (bytes: number) => {
      if (!budget.take(account, bytes)) return false
      held += bytes
      return true
    }
    const giveBack = () => {
      if (held > 0) budget.giveBack(account, held)
      held = 0
    }
    const reader = createFrameReader(take)
    const respond = async (frame: Frame) => {
      const { head, body } = (await answer(owner, frame)) ?? {}
      if (head === undefined || !take(body?.length ?? 0)) return void socket.destroy()
      const units = 1 + held / UNIT_BYTES
      await send(socket, frameBytes(head, body))
      giveBack()
      const waitMs = pace(account, units)
      if (waitMs > 0) await sleep(waitMs, undefined, { ref: false })
      socket.setTimeout(0)
      socket.resume()
    }
    socket.on('error', () => {})
    socket.once('timeout', () => socket.destroy())
    socket.once('close', giveBack)
    socket.on('data', (piece: Buffer) => {
      socket.setTimeout(STALL_MS)
      const frame = reader.push(piece)
      if (frame === 'bad') return void socket.destroy()
      if (frame === undefined) return
      socket.pause()
      respond(frame).catch(() => socket.destroy())
    })
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
