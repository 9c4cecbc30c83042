/** Answers visitors by functions. docs/functions.md. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { networkOf } from '../../platform/base/network.ts'
import { createSharedSlots, type SharedSlots } from '../../platform/fairness/shared-slots.ts'
import type { FunctionLog } from '../logs/function-log.ts'
import { FunctionFailure } from './faults.ts'
import { type FunctionSpec, maxDurationMs } from './function-spec.ts'
import { type FunctionCall, invoke } from './invoke.ts'
import type { FunctionLine } from './log-lines.ts'
import type { Lease, Processes } from './processes.ts'
import { newRequestId } from './request-id.ts'

export type FunctionRequest = { spec: FunctionSpec; call: FunctionCall }
type Exchange = { raw: IncomingMessage; response: ServerResponse }

export type Functions = {
  /** Answers by a function. Gives a failure where nothing was sent to the visitor yet; throws errors afterwards, and RoutingFault. */
  answer(request: FunctionRequest, exchange: Exchange): Promise<FunctionFailure | undefined>
  close(): Promise<void>
}

export type FunctionParts = {
  processes: Processes
  /** Lets a visitor send the body that waits for `100 Continue`. */
  letContinue(raw: IncomingMessage, response: ServerResponse): void
  writeLine(spec: FunctionSpec, line: FunctionLine): void
  begin: FunctionLog['begin']
  log: Logger
}

/** Requests that run at once, and those of one account. */
const AT_ONCE = 1024
const OF_ACCOUNT = 256
const WAIT_MS = 10_000
const MAX_BODY_BYTES = 100 * 1024 ** 2

/** Opens the functions of a sites server. */
export function openFunctions(parts: FunctionParts): Functions {
  const slots = createSharedSlots({ slots: AT_ONCE, ofOwner: OF_ACCOUNT })
  return {
    async answer(request, exchange) {
      const { response } = exchange
      const id = newRequestId()
      response.setHeader('x-vercel-id', id)
      observe(parts, request, response, id)
      try {
        await answer(parts, slots, request, exchange, id)
        return undefined
      } catch (error) {
        if (!(error instanceof FunctionFailure)) throw error
        // The visitor left while they waited.
        if (response.destroyed) return undefined
        tell(parts, request.spec, id, error)
        return error
      }
    },
    close: () => parts.processes.close(),
  }
}

/** The log has each request, with the status that its visitor got. */
function observe(
  { begin }: FunctionParts,
  { spec, call: { request } }: FunctionRequest,
  response: ServerResponse,
  requestId: string,
): void {
  const { method, host, path } = request
  const facts = { requestId, method: method.slice(0, 20), host: host.slice(0, 260), path: path.slice(0, 500) }
  const end = begin(spec.deploymentId, facts)
  const onClose = () => end(response.headersSent ? response.statusCode : 0)
  if (response.destroyed) onClose()
  else response.once('close', onClose)
}

async function answer(
  parts: FunctionParts,
  slots: SharedSlots,
  { spec, call }: FunctionRequest,
  exchange: Exchange,
  id: string,
): Promise<void> {
  const { raw, response } = exchange
  if (Number(raw.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const gone = goneWith(response)
  const address = networkOf(call.ip)
  if (!(await slots.acquire(spec.account, address, WAIT_MS, gone)))
    throw new FunctionFailure('FUNCTION_THROTTLED', 'too many requests run')
  try {
    const lease = await parts.processes.acquire(spec, gone)
    try {
      await runOn(parts, lease, { spec, call }, exchange, { id, gone })
    } finally {
      lease.release()
    }
  } finally {
    slots.release(spec.account, address)
  }
}

type Running = { id: string; gone: AbortSignal }

/** Sends the request to a process, for as long as the function may take. */
async function runOn(
  parts: FunctionParts,
  lease: Lease,
  { spec, call }: FunctionRequest,
  exchange: Exchange,
  { id, gone }: Running,
): Promise<void> {
  const { raw, response } = exchange
  const { 'content-length': length, 'transfer-encoding': coding } = raw.headers
  const isSent = coding !== undefined || Number(length ?? 0) > 0
  if (isSent) parts.letContinue(raw, response)
  const sent = { id, call, body: isSent ? bounded(raw) : undefined, length: isSent ? length : undefined }
  const ending = new AbortController()
  const leave = () => ending.abort()
  gone.addEventListener('abort', leave, { once: true })
  if (gone.aborted) leave()
  let isLate = false
  const limitMs = maxDurationMs(spec)
  const timer = setTimeout(() => {
    isLate = true
    ending.abort()
  }, limitMs)
  try {
    await invoke(lease, sent, exchange, ending.signal)
  } catch (error) {
    if (!isLate && gone.aborted) return
    if (!isLate) throw error
    // The process may be busy for ever. Its other requests may end.
    lease.end()
    const failure = new FunctionFailure('FUNCTION_INVOCATION_TIMEOUT', `Task timed out after ${limitMs / 1000} seconds`)
    if (!response.headersSent) throw failure
    tell(parts, spec, id, failure)
    response.destroy()
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', leave)
  }
}

function tooLarge(): FunctionFailure {
  return new FunctionFailure('FUNCTION_PAYLOAD_TOO_LARGE', `a body has at most ${MAX_BODY_BYTES / 1024 ** 2} MiB`)
}

async function* bounded(raw: IncomingMessage): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const piece of raw.iterator({ destroyOnReturn: false })) {
    bytes += piece.length
    if (bytes > MAX_BODY_BYTES) throw tooLarge()
    yield piece
  }
}

function goneWith(response: ServerResponse): AbortSignal {
  const leaving = new AbortController()
  response.once('close', () => leaving.abort())
  if (response.destroyed) leaving.abort()
  return leaving.signal
}

/** The owner of the function reads why it did not answer; what is of the operator's is in the log of the sites server. */
function tell(
  { writeLine, log }: FunctionParts,
  spec: FunctionSpec,
  id: string,
  { code, message, cause }: FunctionFailure,
) {
  writeLine(spec, { stream: 'stderr', requestId: id, text: `${code}: ${message}` })
  if (code === 'INTERNAL_FUNCTION_SERVICE_UNAVAILABLE')
    log.error({ err: cause, deployment: spec.deploymentId, name: spec.bundle.name }, 'a function cannot be started')
}
