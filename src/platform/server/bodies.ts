/** How bodies come: read whole before the handler, or, of a route with `fileBody`, read by its operation as they come. docs/limits.md: Sizes and time, Uploads. */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingFile } from '../../context.ts'
import { createBodyBudget } from '../fairness/body-budget.ts'
import { atLeastSpeed, cutOff } from '../fairness/file-turns.ts'
import { singleHeader } from '../http/parse-request.ts'
import { Refusal } from '../refusals/refusal.ts'
import { PacedRequest } from './paced-request.ts'

/** On a route whose `config` is this, the body is left for the operation. */
export const AS_IT_COMES = { asItComes: true }

/** Whose request is read as it comes. `ends`: the connection ends with the answer, because nobody bounds any more how long the rest would take. */
const files = new WeakMap<Socket, { ends: boolean }>()

/** Has the bodies of a server read. What is given is to be called for each answer that leaves. */
export function readBodies(app: FastifyInstance): (request: FastifyRequest, reply: FastifyReply) => void {
  const bodies = createBodyBudget()
  // The handler parses: a stranger with a bad body gets 401, not 400.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request, payload, done) => {
    if ('asItComes' in request.routeOptions.config) {
      paced(payload)?.hold()
      return done(null)
    }
    bodies.read(payload, request.routeOptions.bodyLimit, Number(request.headers['content-length']), done)
  })
  return (request, reply) => {
    if (request.body !== undefined) bodies.release(request.body as Buffer)
    const ends = files.get(request.raw.socket)?.ends
    files.delete(request.raw.socket)
    if (request.raw.complete) return
    paced(request.raw)?.letGo()
    if (ends) reply.header('connection', 'close')
    // What nobody reads is still read at a pace; the platform would throw it away as fast as it comes.
    else request.raw.resume()
  }
}

/** Undefined for a request that came by no connection. */
function paced(request: unknown): PacedRequest | undefined {
  return request instanceof PacedRequest ? request : undefined
}

/** The file that a request brings. Nothing of it is read before its pieces are asked for, and then it has a least speed in the place of a time. */
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
    // The connection stays when the operation has read enough: it carries the answer.
    yield* atLeastSpeed(raw.iterator({ destroyOnReturn: false }))
  } catch (error) {
    if (!(error instanceof Refusal)) throw cutOff()
    state.ends = true
    throw error
  }
}

/** Whether an error of a connection is only that its request takes longer than requests may, and the request brings a file. */
export function mayTakeLonger({ code }: { code?: string }, socket: Socket): boolean {
  const state = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? files.get(socket) : undefined
  if (state !== undefined) state.ends = true
  return state !== undefined
}
