/** Short answers to visitors: pages and sentences, and what becomes of bodies that nobody reads. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'

/** The name of an error, for whoever looks at the headers. */
export const ERROR_HEADER = 'x-vercel-error'

/** More of a body that nobody reads ends the connection: reading on would cost more than a new one. */
const MAX_DRAINED = 256 * 1024

/** Requests that wait for `100 Continue` before they send their body. */
const waiting = new WeakSet<IncomingMessage>()

/** Notes that a request waits for `100 Continue`. */
export function waitsForContinue(request: IncomingMessage): void {
  waiting.add(request)
}

/** Lets a request send its body, where it waits for that. */
export function letContinue(request: IncomingMessage, response: ServerResponse): void {
  if (waiting.delete(request)) response.writeContinue()
}

/** Makes whatever is sent in this response have no body: its status and headers alone. To be called before the answer. */
export function leaveOutBody(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers: OutgoingHttpHeaders,
  ) => ServerResponse
  const end = response.end.bind(response)
  response.writeHead = ((status: number, headers: OutgoingHttpHeaders = {}) => {
    const { 'content-length': _, 'content-encoding': __, ...kept } = headers
    // RFC 9110 8.6: these have no length.
    return writeHead(status, status === 204 || status === 304 ? kept : { ...kept, 'content-length': 0 })
  }) as ServerResponse['writeHead']
  response.write = () => true
  response.end = (() => end()) as ServerResponse['end']
}

/** As `Answer`, with headers that may be there several times. */
export type Outgoing = Omit<EdgeResponse, 'headers'> & { headers: Record<string, string | string[]> }

/** Sends an answer whole. One to HEAD has no body. */
export function sendAnswer(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Outgoing,
): void {
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
  response.end(request.method === 'HEAD' ? undefined : body)
}

/** An answer that is a sentence. `code`: the name of the error. */
export function sentence(status: number, text: string, code?: string): EdgeResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return { status, headers: { ...headers, ...(code !== undefined && { [ERROR_HEADER]: code }) }, body: `${text}\n` }
}

/** Reads the body of a request that needs none, up to a bound, so that the connection can be used again. To be called before the answer. */
export function drain(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return
  // It is not asked to send what nobody reads.
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

/** Whether a request has a body, or says that one comes. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined
}
