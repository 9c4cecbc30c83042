/** One request to a function, and its answer to the visitor. docs/functions.md: Requests. */

import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'
import type { Dispatcher } from 'undici'
import { MESSAGE_HEADERS } from '../../delivery/protocol/message-headers.ts'
import { CACHE_TAG_HEADER, FAULT_HEADER, ID_HEADER } from '../../launcher/protocol.ts'
import type { Decision, Invocation } from '../router/decision.ts'
import type { VisitorRequest } from '../router/request.ts'
import { responseHeaders } from '../router/response-headers.ts'
import { hasNoBody } from '../visitors/send.ts'
import { namesIn } from '../visitors/visit.ts'
import { FunctionFailure } from './faults.ts'
import type { Lease } from './processes.ts'

/**
 * `path`: of the function. `status`: of the rules. `hidesPassword`: the visitor's password for the site is not the function's. `ip`: undefined where no
 * visitor asks. `takesAsIs`: the answer keeps the headers of the function. `rendersPage`: the answer is a prerendered page. `cached`: what
 * `x-vercel-cache` says.
 */
export type FunctionCall = {
  request: VisitorRequest
  ip: string | undefined
  invocation: Invocation
  path: string
  status: number | undefined
  rules: Pick<Decision, 'headers' | 'cookies' | 'responseTransforms'>
  hidesPassword: boolean
  takesAsIs?: boolean
  rendersPage?: boolean
  cached?: 'MISS' | 'BYPASS'
}

/** What a response is written to: that of a visitor, or one that is collected. */
export type Answering = Writable &
  Pick<ServerResponse, 'headersSent' | 'statusCode' | 'flushHeaders'> & {
    getHeader(name: string): unknown
    setHeader(name: string, value: string): unknown
    writeHead(status: number, headers: OutgoingHttpHeaders): unknown
  }
/** `body`, `length`: where the visitor's body goes along. */
export type Sent = {
  id: string
  call: FunctionCall
  body: AsyncIterable<Buffer> | undefined
  length: string | undefined
}

/**
 * Sends a request to a process and its answer to the visitor. `signal` ends it: the visitor left, or its time is over. Throws FunctionFailure and
 * RoutingError before anything is sent to the visitor, and any error afterwards.
 */
export async function invoke(lease: Lease, sent: Sent, response: Answering, signal: AbortSignal): Promise<void> {
  const body = sent.body === undefined ? null : Readable.from(sent.body, { objectMode: false })
  const options: Dispatcher.RequestOptions = { ...requestOf(sent), body, signal }
  // What is thrown to the client would reach the caller as an aborted request.
  let refused: Error | undefined
  try {
    await lease.connections.pool.stream(options, ({ statusCode, headers }) => {
      refused = begin(response, sent, statusCode, headers)
      return refused === undefined ? response : nowhere()
    })
  } catch (error) {
    if (response.headersSent || signal.aborted || refused !== undefined) throw refused ?? error
    throw await failureOf(lease, error as Error)
  }
  if (refused !== undefined) throw refused
}

/** The request to a process, without its body. */
export function requestOf(sent: Sent): {
  method: Dispatcher.HttpMethod
  path: string
  headers: Record<string, string>
} {
  const { call } = sent
  const method = call.request.method as Dispatcher.HttpMethod
  return { method, path: call.path + call.invocation.search, headers: requestHeaders(sent) }
}

/** Sends status and headers. Returns the error where that cannot be done. */
function begin(
  response: Answering,
  sent: Sent,
  statusCode: number,
  headers: Dispatcher.ResponseData['headers'],
): Error | undefined {
  const fault = faultIn(headers)
  if (fault !== undefined) return fault
  try {
    if (sent.call.takesAsIs) {
      response.writeHead(statusCode, headers)
      return undefined
    }
    sendHead(response, sent, statusCode, headers)
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** Sends status and headers of a function to a visitor. Throws RoutingError. */
export function sendHead(
  response: Answering,
  sent: Pick<Sent, 'id' | 'call'>,
  statusCode: number,
  headers: Dispatcher.ResponseData['headers'],
): void {
  const status = hasNoBody(statusCode) ? statusCode : (sent.call.status ?? statusCode)
  response.writeHead(status, answerHeaders(headers, sent, !hasNoBody(status)))
  // Streams show their head at once.
  if (!('content-length' in headers)) response.flushHeaders()
}

/** Returns the failure that a launcher answered in the place of its function. */
export function faultIn(headers: Dispatcher.ResponseData['headers']): FunctionFailure | undefined {
  const fault = headers[FAULT_HEADER]
  return fault === undefined ? undefined : new FunctionFailure('FUNCTION_INVOCATION_FAILED', String(fault))
}

function nowhere(): Writable {
  return new Writable({ write: (_, __, done) => done() })
}

/** A connection may close a little before its process is known to have ended. */
const END_MS = 500

/** Returns what it means that a process sent no answer. */
export async function failureOf(lease: Lease, error: Error): Promise<FunctionFailure> {
  if (error instanceof FunctionFailure) return error
  const hasEnded = await lease.hasEnded(END_MS)
  const code = hasEnded ? 'FUNCTION_INVOCATION_FAILED' : 'NO_RESPONSE_FROM_FUNCTION'
  return new FunctionFailure(code, error.message, error)
}

function requestHeaders({ id, call, length }: Sent): Record<string, string> {
  const { request, ip, invocation, hidesPassword, rendersPage } = call
  const headers: Record<string, string> = {}
  for (const [name, value] of invocation.headers ?? request.headers) {
    if (MESSAGE_HEADERS.has(name)) continue
    if (name === 'authorization' && hidesPassword && /^basic\s/i.test(value)) continue
    headers[name] = value
  }
  const host = request.headers.get('host') ?? request.host
  const proto = request.headers.get('x-forwarded-proto') ?? 'https'
  headers.host = host
  headers.forwarded = `for=${ip?.includes(':') ? `"[${ip}]"` : (ip ?? 'unknown')};host=${host};proto=${proto}`
  if (ip !== undefined) headers['x-vercel-forwarded-for'] = ip
  headers[ID_HEADER] = id
  // Next.js caches its answers in memory for 10 seconds, unless each request has an id of its own.
  headers['x-invocation-id'] = id
  if (invocation.matchedPath !== '') headers['x-matched-path'] = invocation.matchedPath
  // With it, Next.js makes a page for all visitors: it ignores the headers that ask for the data of a page.
  if (rendersPage && invocation.routeMatches !== '') headers['x-now-route-matches'] = invocation.routeMatches
  if (length !== undefined) headers['content-length'] = length
  return headers
}

/** TABLE response headers that are for caches of the platform. */
const FOR_CACHES: ReadonlySet<string> = new Set([
  'cdn-cache-control',
  'vercel-cdn-cache-control',
  'x-next-cache-tags',
  CACHE_TAG_HEADER,
])

/** The headers of an answer to the visitor: the function's, with those of the rules and of the platform. */
export function answerHeaders(
  { connection, 'set-cookie': cookies, ...others }: Dispatcher.ResponseData['headers'],
  { id, call }: Pick<Sent, 'id' | 'call'>,
  hasLength: boolean,
): Record<string, string | string[]> {
  const listed = namesIn([connection ?? []].flat().join())
  const own = Object.entries(others).flatMap(([name, value]) => {
    if (value === undefined || MESSAGE_HEADERS.has(name) || listed.has(name) || FOR_CACHES.has(name)) return []
    return [{ name, value: [value].flat().join(', ') }]
  })
  const merged: Record<string, string | string[]> = {}
  for (const { name, value } of responseHeaders(call.rules, own)) merged[name] = value
  merged['cache-control'] = browserCaching(merged['cache-control'])
  const all = [cookies ?? [], merged['set-cookie'] ?? [], call.rules.cookies].flat()
  if (all.length > 0) merged['set-cookie'] = all
  merged[ID_HEADER] = id
  merged['x-vercel-cache'] = call.cached ?? 'MISS'
  if (call.invocation.matchedPath !== '') merged['x-matched-path'] = call.invocation.matchedPath
  // The length stays, so that a truncated body is detected.
  if (hasLength && others['content-length'] !== undefined) merged['content-length'] = String(others['content-length'])
  return merged
}

const DEFAULT_CACHING = 'public, max-age=0, must-revalidate'

/** Returns `Cache-Control` for browsers, without what is for shared caches. */
export function browserCaching(header: string | string[] | undefined): string {
  const parts = [header ?? '']
    .flat()
    .join(', ')
    .split(',')
    .map((part) => part.trim())
  const remaining = parts.filter(
    (part) => part !== '' && !/^(?:s-maxage|stale-while-revalidate|stale-if-error)\b/i.test(part),
  )
  const isEmpty = remaining.length === 0 || (remaining.length < parts.length && remaining.join() === 'public')
  return isEmpty ? DEFAULT_CACHING : remaining.join(', ')
}
