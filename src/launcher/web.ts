/** Requests and responses of Node.js as those of the web, one request at a time. docs/functions.md: Forms. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import * as zlib from 'node:zlib'
import { FunctionFault } from './faults.ts'
import { CACHE_TAG_HEADER } from './protocol.ts'
import { currentContext, originOf } from './request-context.ts'

export type WebHandler = (request: Request, context: { waitUntil(promise: unknown): void }) => unknown

/** TABLE headers that belong to the connection, and not to the request or the response. */
const OF_CONNECTION = ['connection', 'keep-alive', 'transfer-encoding', 'upgrade']
/** TABLE headers that describe the bytes of a body. */
const OF_BYTES = ['content-encoding', 'content-length']
/** TABLE codings that `fetch` decodes. A body with another one stays as it is. */
const DECODED: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate', 'br', ...(decodesZstd() ? ['zstd'] : [])])
/** Bodies that `fetch` decoded. A response that is made of one often has the headers of before. */
const decoded = new WeakSet<object>()

/** Notes what `fetch` decodes. Call it before a function is loaded. */
export function watchFetch(): void {
  const own = globalThis.fetch
  globalThis.fetch = async function fetch(input, init) {
    const answer = await own(input, init)
    if (answer.body !== null && isCoded(answer.headers)) decoded.add(answer.body)
    return answer
  }
}

/** From undici 7.11 on. */
function decodesZstd(): boolean {
  const [major = 0, minor = 0] = (process.versions.undici ?? '').split('.').map(Number)
  return 'createZstdDecompress' in zlib && (major > 7 || (major === 7 && minor >= 11))
}

function isCoded(headers: Headers): boolean {
  const codings = headers.get('content-encoding')?.toLowerCase().split(',') ?? ['']
  return codings.every((coding) => DECODED.has(coding.trim()))
}

/** Answers a request by a function of the web. */
export async function answerByWeb(
  handler: WebHandler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const waitUntil = (promise: unknown) => currentContext()?.waitUntil(promise)
  await sendWeb(await handler(webRequest(request, response), { waitUntil }), request, response)
}

function webRequest(request: IncomingMessage, response: ServerResponse): Request {
  const headers = new Headers()
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at]!
    if (!OF_CONNECTION.includes(name.toLowerCase())) headers.append(name, request.rawHeaders[at + 1]!)
  }
  const clientAbort = new AbortController()
  response.once('close', () => {
    if (!response.writableFinished) clientAbort.abort()
  })
  const { method = 'GET' } = request
  const hasBody = method !== 'GET' && method !== 'HEAD'
  const body = hasBody ? (Readable.toWeb(request) as unknown as RequestInit['body']) : null
  const init = { method, headers, body, signal: clientAbort.signal, ...(hasBody && { duplex: 'half' }) }
  // Joined, not resolved: a path that begins with two slashes names no other host.
  return new Request(originOf(request) + request.url, init as RequestInit)
}

/** Sends a response of the web. Throws FunctionFault for anything else. */
export async function sendWeb(answer: unknown, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (!isResponse(answer)) throw new FunctionFault('NO_RESPONSE')
  response.statusCode = answer.status
  if (answer.statusText) response.statusMessage = answer.statusText
  const left = leftOut(answer, request)
  for (const [name, value] of answer.headers) {
    if (left.has(name)) continue
    // Tags that were added before stay.
    if (name === CACHE_TAG_HEADER) response.appendHeader(name, value)
    else if (name !== 'set-cookie') response.setHeader(name, value)
  }
  const cookies = left.has('set-cookie') ? [] : answer.headers.getSetCookie()
  if (cookies.length > 0) response.setHeader('set-cookie', cookies)
  if (answer.body === null || request.method === 'HEAD') {
    await answer.body?.cancel()
    return void response.end()
  }
  response.flushHeaders()
  await sendBody(answer.body as unknown as ReadableStream, request, response)
}

/** Headers that would be wrong here: those of another connection (RFC 9110 7.6.1), and those of a body that is not sent so. */
function leftOut(answer: Response, { method }: IncomingMessage): ReadonlySet<string> {
  const { headers, status, body, url } = answer
  const listed = (headers.get('connection') ?? '').toLowerCase().split(',')
  // A response of `fetch` has a URL, also one that was cloned.
  const isDecoded = body !== null && (decoded.has(body) || (Boolean(url) && isCoded(headers)))
  const isEmpty = body === null && method !== 'HEAD' && status !== 304
  return new Set([
    ...OF_CONNECTION,
    ...listed.map((name) => name.trim()),
    ...(isDecoded ? OF_BYTES : isEmpty ? ['content-length'] : []),
  ])
}

/** Ends a body that never ends once its visitor left: writing goes on in one tick, so no event says so in time. */
async function sendBody(body: ReadableStream, { socket }: IncomingMessage, response: ServerResponse): Promise<void> {
  const reader = body.getReader()
  const leave = () => void reader.cancel().catch(() => {})
  response.once('close', leave)
  for (;;) {
    const { done, value } = await reader.read()
    if (response.destroyed || socket.destroyed) return leave()
    if (done) break
    if (!response.write(value)) await roomIn(response)
  }
  response.off('close', leave)
  response.end()
}

/** Resolves when more can be written, or nothing any more. */
function roomIn(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go)
      resolve()
    }
    response.on('drain', go).on('close', go)
  })
}

/** A framework may bring a class of its own. */
export function isResponse(value: unknown): value is Response {
  if (value instanceof Response) return true
  const { status, headers, body } = (value ?? {}) as Partial<Response>
  return typeof status === 'number' && typeof headers?.getSetCookie === 'function' && body !== undefined
}
