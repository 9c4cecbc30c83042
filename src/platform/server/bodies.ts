/**
 * Reads bodies before the handler, long ones of operations once their account has a turn, or leaves them to an operation with `fileBody`.
 * docs/limits.md: Sizes and timeouts, Uploads.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingFile } from '../../context.ts'
import { createBodyBudget } from '../fairness/body-budget.ts'
import { atLeastSpeed, cutOff } from '../fairness/file-turns.ts'
import { isBulk, type LongBody } from '../fairness/gate.ts'
import { singleHeader } from '../http/parse-request.ts'
import { Refusal } from '../refusals/refusal.ts'
import { PacedRequest } from './paced-request.ts'

/** Route `config` that leaves the body to the operation, or a long one until its account has a turn. */
export const AS_IT_COMES = { asItComes: true }
export const IN_TURN = { inTurn: true }

const longBodies = new WeakMap<FastifyRequest, LongBody>()

/** Sockets of file requests. `ends`: the connection closes after the response, because the rest of the body has no timeout any more. */
const files = new WeakMap<Socket, { ends: boolean }>()

/** Reads the bodies of a server. Call the returned function for each response that is sent. */
export function readBodies(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const bodies = createBodyBudget()
  const endings = new WeakMap<FastifyRequest, () => void>()
  // The handler parses, so that an unauthenticated client with a bad body gets 401, not 400.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, payload, done) => {
    if ('asItComes' in request.routeOptions.config) {
      paced(payload)?.hold()
      return done(null)
    }
    const limit = request.routeOptions.bodyLimit
    const declared = Number(request.headers['content-length'])
    const waits = 'inTurn' in request.routeOptions.config && isBulk(declared) && !(declared > limit)
    if (waits) paced(payload)?.pauseBody()
    const { promise: body, resolve, reject } = Promise.withResolvers<Buffer>()
    const ending = bodies.read(payload, limit, declared, (error, whole) => {
      if (!waits) done(error, whole)
      else if (error) reject(error)
      else resolve(whole!)
    })
    endings.set(request, ending)
    if (!waits) return
    // It is awaited in its turn, or the request was refused before.
    body.catch(() => {})
    const read = () => {
      paced(payload)?.letGo()
      return body
    }
    longBodies.set(request, { read })
    done(null)
  })
  return (request, reply) => {
    endings.get(request)?.()
    const ends = files.get(request.raw.socket)?.ends
    files.delete(request.raw.socket)
    if (request.raw.complete) return
    paced(request.raw)?.letGo()
    if (ends) reply.header('connection', 'close')
    // An unused body is paced too; Node.js would discard it at full speed.
    else request.raw.resume()
  }
}

/** Undefined for a request without a connection. */
function paced(request: unknown): PacedRequest | undefined {
  return request instanceof PacedRequest ? request : undefined
}

/** Returns the long body of a request, which is read once it has a turn; undefined where the body was short and is read. */
export function longBodyOf(request: FastifyRequest): LongBody | undefined {
  return longBodies.get(request)
}

/** Returns the file of a request. Reading starts with the first chunk requested; then a minimum speed replaces the timeout. */
export function fileOf({ raw }: FastifyRequest): IncomingFile {
  const state = { ends: false }
  files.set(raw.socket, state)
  const leaving = new AbortController()
  raw.once('close', () => leaving.abort())
  return {
    gone: leaving.signal,
    header(name) {
      const value = singleHeader(raw.rawHeaders, name)
      if (value !== undefined || raw.headers[name] === undefined) return value
      throw new Refusal('bad_request', `Invalid request: the header ${name} should be there once.`, {})
    },
    pieces: piecesOf(raw, state),
  }
}

async function* piecesOf(raw: FastifyRequest['raw'], state: { ends: boolean }): AsyncGenerator<Buffer> {
  try {
    paced(raw)?.letGo()
    // A partial read must keep the connection, which carries the response.
    yield* atLeastSpeed(raw.iterator({ destroyOnReturn: false }))
  } catch (error) {
    if (!(error instanceof Refusal)) throw cutOff()
    state.ends = true
    throw error
  }
}

/** Whether a connection error is only the request timeout, which does not apply to files. */
export function canTakeLonger({ code }: { code?: string }, socket: Socket): boolean {
  const state = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? files.get(socket) : undefined
  if (state !== undefined) state.ends = true
  return state !== undefined
}
