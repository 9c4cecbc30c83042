/** Maps errors outside of operations to responses. */
import type { Socket } from 'node:net'
import type { Deps } from '../../context.ts'
import { REFUSALS, type RefusalKey } from '../../errors.ts'
import { Refusal } from '../refusals/refusal.ts'

const OF_FRAMEWORK: Record<string, RefusalKey> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'bad_request',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

/** Returns the refusal of an error; undefined for an internal error. */
function refusalFor(error: Error & { code?: string; statusCode?: number }): Refusal | undefined {
  if (error instanceof Refusal) return error
  const key = OF_FRAMEWORK[error.code ?? '']
  if (key === 'bad_request')
    return new Refusal(key, 'Invalid request: the path holds a bad escape or invalid UTF-8.', {})
  if (key !== undefined) return new Refusal(key, REFUSALS[key][2], {})
  if (error.statusCode === undefined || error.statusCode >= 500) return undefined
  return new Refusal('bad_request', `Invalid request: ${error.message}`, {})
}

/** Where an error happened, for the log. Never contains user data. */
export type FaultPlace = { requestId: string; traceId?: string; method: string; path: string | undefined }

/** Returns a refusal for any error: mapped request and database errors, or a bare 500. */
export function toRefusal(deps: Pick<Deps, 'db' | 'log'>, error: Error, at: FaultPlace): Refusal {
  const ofStore = deps.db.refusalOf(error)
  if (ofStore) {
    deps.log.warn({ err: error, ...at }, 'the database refused the request')
    return new Refusal(ofStore, REFUSALS[ofStore][2], {})
  }
  const refusal = refusalFor(error)
  if (refusal !== undefined) return refusal
  deps.log.error({ err: error, ...at }, 'request failed')
  return new Refusal('internal_server_error', `Something failed on our side (request ${at.requestId}).`, {})
}

/** Authentication scheme of every 401. `operator_only` and `metrics_only` have one even without a token. */
const CHALLENGES: Partial<Record<RefusalKey, string>> = {
  missing_token: 'Bearer realm="berth"',
  invalid_token: 'Bearer realm="berth", error="invalid_token"',
  operator_only: 'Bearer realm="berth"',
  metrics_only: 'Bearer realm="berth"',
  invalid_client: 'Basic realm="berth"',
}

/** Returns the headers of an error response: its own and those of its status. RFC 9110 15.5.2, RFC 6750 3, RFC 6749 5.2. */
export function headersOf({ key, status, headers }: Refusal): Record<string, string> {
  const challenge = status === 401 ? CHALLENGES[key] : undefined
  return {
    ...headers,
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
    ...(status === 503 && { 'retry-after': '1' }),
  }
}

/** Returns the body of an error response: `{error: {code, message, ...}}`, with RFC 9457 fields for clients that accept them. */
export function renderRefusal(refusal: Refusal, accept = ''): { contentType: string; body: string } {
  const code = REFUSALS[refusal.key][1]
  const body = { error: { ...refusal.extra, code, message: refusal.message } }
  if (!/application\/problem\+json/.test(accept)) return { contentType: 'application/json', body: JSON.stringify(body) }
  const problem = { type: 'about:blank', status: refusal.status, title: code, detail: refusal.message, ...body }
  return { contentType: 'application/problem+json', body: JSON.stringify(problem) }
}

const OF_PARSER: Record<string, [statusLine: string, RefusalKey]> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'headers_too_large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'request_timeout'],
}

/** Sends a readable response to bytes that the HTTP parser rejects. Returns its status. */
export function respondToParseError(
  error: Error & { code?: string },
  socket: Socket,
  requestId: string,
): number | undefined {
  if (!socket.writable) return void socket.destroy()
  const [statusLine, key] = OF_PARSER[error.code ?? ''] ?? ['400 Bad Request', 'bad_request']
  const message = key === 'bad_request' ? 'The request is not valid HTTP.' : REFUSALS[key][2]
  const { contentType, body } = renderRefusal(new Refusal(key, message, {}))
  const headers = `content-type: ${contentType}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\nconnection: close`
  socket.end(`HTTP/1.1 ${statusLine}\r\n${headers}\r\n\r\n${body}`)
  return REFUSALS[key][0]
}
