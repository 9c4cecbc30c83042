/** Request bodies: read in full, each within its limit and all within a budget. docs/spec/reliability.md 2d, T48. */
import type { Readable } from 'node:stream'
import { REFUSALS, type RefusalKey } from '../../errors.ts'
import { Refusal } from '../refusals/refusal.ts'
import { collectBytes } from './collected-bytes.ts'

/** Bytes of all bodies that arrive or await their response. */
export const BODY_BUDGET = 64 * 1024 * 1024

type Done = (error: Error | null, body?: Buffer) => void
type PendingBody = { bytes: number; fail: (key: RefusalKey) => void }

export type BodyBudget = {
  /**
   * Reads a body of `declared` bytes (NaN: unknown). Its bytes count until the returned function is called, which also stops reading. Refuses:
   * payload_too_large 413, bad_request 400, overloaded 503.
   */
  read(stream: Readable, limit: number, declared: number, done: Done): () => void
}

/** Creates a budget. Above it, the oldest arriving body is cut off: a stalled client is soon the oldest, and fast clients are not affected. */
export function createBodyBudget(budget: number = BODY_BUDGET): BodyBudget {
  const coming = new Set<PendingBody>()
  let total = 0
  const hold = (body: PendingBody, bytes: number) => {
    body.bytes += bytes
    total += bytes
    coming.add(body)
    for (const oldest of coming) {
      if (total <= budget) return
      oldest.fail('overloaded')
    }
  }
  const drop = (body: PendingBody) => {
    coming.delete(body)
    total -= body.bytes
    body.bytes = 0
  }
  return {
    read: (stream, limit, declared, done) =>
      readBody({ hold, drop, whole: (body) => coming.delete(body) }, stream, limit, declared, done),
  }
}

type Budget = {
  hold(one: PendingBody, bytes: number): void
  drop(one: PendingBody): void
  whole(one: PendingBody): void
}

function readBody(budget: Budget, stream: Readable, limit: number, declared: number, done: Done): () => void {
  const chunks = collectBytes()
  const leave = () => {
    stream.off('data', onData).off('end', onEnd).off('error', onBroken).off('close', onBroken)
    chunks.clear()
  }
  const pending: PendingBody = {
    bytes: 0,
    fail(key) {
      leave()
      budget.drop(pending)
      done(new Refusal(key, REFUSALS[key][2], {}))
    },
  }
  const onData = (chunk: Buffer) => {
    if (pending.bytes + chunk.length > limit) return pending.fail('payload_too_large')
    chunks.push(chunk)
    budget.hold(pending, chunk.length)
  }
  const onEnd = () => {
    if (!Number.isNaN(declared) && declared !== pending.bytes) return pending.fail('bad_request')
    const body = chunks.join()
    leave()
    budget.whole(pending)
    done(null, body)
  }
  const onBroken = () => pending.fail('bad_request')
  if (declared > limit) pending.fail('payload_too_large')
  else stream.on('data', onData).on('end', onEnd).on('error', onBroken).on('close', onBroken)
  return () => {
    leave()
    budget.drop(pending)
  }
}
