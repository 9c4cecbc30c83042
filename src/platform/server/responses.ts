/** Owners and pending bytes of responses. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Deps } from '../../context.ts'
import { createGates, type Gates } from '../fairness/gate.ts'
import { createResponseBuffers } from '../fairness/response-backpressure.ts'
import { peerAddress } from '../http/failure-limits.ts'

type Request = { raw: IncomingMessage }
type Reply = { raw: ServerResponse; header(name: string, value: string | number): unknown }

export type Responses = {
  gates: Gates
  /** Sets the owner of a response; by default the client address. */
  setOwner(request: Request, owner: string): void
  /** Tracks a response until it is sent, and returns the body to send. */
  track(
    request: Request,
    reply: Reply,
    body: string | Buffer | null | undefined,
  ): string | Buffer | Readable | null | undefined
}

/** A shorter text always fits into the socket buffer. */
const SHORT_TEXT = 4096

/** Creates the tracker of responses. */
export function createResponses({ config, db, metrics }: Pick<Deps, 'config' | 'db' | 'metrics'>): Responses {
  const owners = new WeakMap<IncomingMessage, string>()
  const ended = metrics.counter('berth_slow_readers_ended_total')
  const unsent = createResponseBuffers({
    onDrained: () => gates.lists.recheck(),
    onStalled: () => void ended.value++,
  })
  const gates = createGates(db.engine, unsent.hasCapacity, config.pool.patience)
  metrics.onCollect(() => {
    metrics.gauge('berth_unsent_bytes').value = unsent.bytes()
  })
  return {
    gates,
    setOwner: ({ raw }, owner) => void owners.set(raw, owner),
    track({ raw }, reply, body) {
      if (body === null || body === undefined || raw.method === 'HEAD') return body
      if (typeof body === 'string' && body.length < SHORT_TEXT && reply.raw.socket !== null) return body
      const bytes = typeof body === 'string' ? Buffer.from(body) : body
      const outgoing = unsent.track(raw, reply.raw, owners.get(raw) ?? peerAddress(raw.socket), bytes)
      // A streamed body has a known length too.
      if (outgoing !== bytes) reply.header('content-length', bytes.length)
      return outgoing
    },
  }
}

/** The head of a stream goes before its first line, which may come much later. A HEAD has only that, so no client would read the stream. */
export function beginStream(
  { raw: { method } }: Pick<Request, 'raw'>,
  { raw }: Pick<Reply, 'raw'>,
  stream: Readable,
): void {
  if (method === 'HEAD') stream.destroy()
  else if (!raw.headersSent) raw.flushHeaders()
}
