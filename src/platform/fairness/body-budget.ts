/** Bodies of requests: read whole, each within its limit, and all of them together within a budget. docs/spec/reliability.md 2d, T48. */
import type { Readable } from 'node:stream'
import { REFUSALS, type RefusalKey } from '../../errors.ts'
import { Refusal } from '../refusals/refusal.ts'

/** What all bodies that arrive or wait for their answer may take together. */
export const BODY_BUDGET = 64 * 1024 * 1024

type Done = (error: Error | null, body?: Buffer) => void
/** A body that is not whole yet. */
type PendingBody = { bytes: number; fail: (key: RefusalKey) => void }

export type BodyBudget = {
  /** Reads a body of `declared` bytes (NaN: unknown). Refuses: payload_too_large 413, bad_request 400, overloaded 503. */
  read(stream: Readable, limit: number, declared: number, done: Done): void
  /** A body that was read is not held any more. */
  release(body: Buffer): void
}

/**
 * Beyond the budget, the body that has been arriving for longest is cut off. A client that stalls is soon the oldest, and
 * clients that send at once are not touched.
 */
export function createBodyBudget(budget: number = BODY_BUDGET): BodyBudget {
  const coming = new Set<PendingBody>()
  let total = 0
  const hold = (one: PendingBody, bytes: number) => {
    one.bytes += bytes
    total += bytes
    coming.add(one)
    for (const oldest of coming) {
      if (total <= budget) return
      oldest.fail('overloaded')
    }
  }
  const drop = (one: PendingBody) => {
    coming.delete(one)
    total -= one.bytes
    one.bytes = 0
  }
  return {
    read: (stream, limit, declared, done) =>
      readBody({ hold, drop, whole: (one) => coming.delete(one) }, stream, limit, declared, done),
    release(body) {
      total -= body.length
    },
  }
}

type Budget = {
  hold(one: PendingBody, bytes: number): void
  drop(one: PendingBody): void
  whole(one: PendingBody): void
}

function readBody(budget: Budget, stream: Readable, limit: number, declared: number, done: Done): void {
  const chunks = openChunks()
  const leave = () => {
    stream.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
    chunks.clear()
  }
  const one: PendingBody = {
    bytes: 0,
    fail(key) {
      leave()
      budget.drop(one)
      done(new Refusal(key, REFUSALS[key][2], {}))
    },
  }
  const onData = (chunk: Buffer) => {
    if (one.bytes + chunk.length > limit) return one.fail('payload_too_large')
    chunks.push(chunk)
    budget.hold(one, chunk.length)
  }
  const onEnd = () => {
    if (!Number.isNaN(declared) && declared !== one.bytes) return one.fail('bad_request')
    const body = chunks.join()
    leave()
    budget.whole(one)
    done(null, body)
  }
  const onBroken = () => one.fail('bad_request')
  if (declared > limit) one.fail('payload_too_large')
  else stream.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
}

/** What is shorter is copied behind the one before it: each chunk of one byte would hold some 200. */
const SHORT = 1024
const PIECE = 16 * 1024

/** The chunks of a body, which take about as much as their bytes, however short they are. */
function openChunks() {
  const chunks: Buffer[] = []
  let [piece, used] = [Buffer.alloc(0), 0]
  const endPiece = () => {
    if (used > 0) chunks.push(piece.subarray(0, used))
    used = 0
  }
  return {
    clear() {
      chunks.length = 0
    },
    push(chunk: Buffer) {
      if (chunk.length >= SHORT) {
        endPiece()
        piece = Buffer.alloc(0)
        return void chunks.push(chunk)
      }
      if (used + chunk.length > piece.length) {
        endPiece()
        piece = Buffer.allocUnsafeSlow(PIECE)
      }
      used += chunk.copy(piece, used)
    },
    join() {
      endPiece()
      return Buffer.concat(chunks)
    },
  }
}
