import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'

export const ERROR_HEADER = 'x-vercel-error'

/** Longer unread bodies close the connection: reading on would cost more than a new one. */
const MAX_DRAINED = 256 * 1024

/** Requests that wait for `100 Continue` before they send their body. */
const waiting = new WeakSet<IncomingMessage>()

/** Records that a request waits for `100 Continue`. */
export function waitsForContinue(request: IncomingMessage): void {
  waiting.add(request)
}

/** Sends `100 Continue` if the request waits for it. */
export function letContinue(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue()
}

/** Changes the headers of this response when they are sent. Call it before responding. */
export function changeHeaders(
  response: ServerResponse,
  change: (headers: OutgoingHttpHeaders, status: number) => OutgoingHttpHeaders,
): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers: OutgoingHttpHeaders,
  ) => ServerResponse
  response.writeHead = ((status: number, headers: OutgoingHttpHeaders = {}) =>
    writeHead(status, change(headers, status))) as ServerResponse['writeHead']
}

/** Omits the body of this response and sends only status and headers. Call it before responding. */
export function leaveOutBody(response: ServerResponse): void {
  const end = response.end.bind(response)
  changeHeaders(response, ({ 'content-length': _, 'content-encoding': __, ...rest }, status) =>
    // RFC 9110 8.6: these have no length.
    status === 204 || status === 304 ? rest : { ...rest, 'content-length': 0 },
  )
  response.write = () => true
  response.end = (() => end()) as ServerResponse['end']
}

export type Outgoing = Omit<EdgeResponse, 'headers'> & { headers: Record<string, string | string[]> }

/** Sends a response. One to HEAD has no body. */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Outgoing,
): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** Returns a plain-text response. `code`: the error code. */
export function sentence(status: number, text: string, code?: string): EdgeResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return { status, headers: { ...headers, ...(code !== undefined && { [ERROR_HEADER]: code }) }, body: `${text}\n` }
}

/** Reads an unneeded request body up to a limit, so that the connection stays usable. Call it before responding. */
export function drain(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return
  // Do not request a body that is not read.
  if (waiting.delete(request) || Number(request.headers['content-length'] ?? 0) > MAX_DRAINED)
    response.setHeader('connection', 'close')
  let bytes = 0
  request.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= MAX_DRAINED) return
    request.pause()
    if (response.writableFinished) request.destroy()
    else response.once('finish', () => request.destroy())
  })
}

/** Yields the body of a request. Throws `tooLarge` once it has more than `max` bytes. */
export async function* bodyWithin(
  request: IncomingMessage,
  max: number,
  tooLarge: () => Error,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of request.iterator({ destroyOnReturn: false })) {
    bytes += piece.length
    if (bytes > max) throw tooLarge()
    yield piece
  }
}

/** Returns whether responses of a status have no body (RFC 9110 6.4.1, 15.3.6). */
export function hasNoBody(status: number): boolean {
  return status < 200 || status === 204 || status === 205 || status === 304
}

/** Returns whether a request has a body or announces one. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
}
