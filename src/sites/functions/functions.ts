/** Answers visitors by functions. docs/functions.md. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { ID_HEADER } from '../../launcher/protocol.ts'
import { networkOf } from '../../platform/base/network.ts'
import { createSharedSlots, type SharedSlots } from '../../platform/fairness/shared-slots.ts'
import type { FunctionLog } from '../logs/function-log.ts'
import type { Usage } from '../usage/reports.ts'
import { bodyWithin } from '../visitors/send.ts'
import { FUNCTION_ERRORS, FunctionFailure, named } from './faults.ts'
import { type FunctionSpec, maxDurationMs } from './function-spec.ts'
import { type Answering, type FunctionCall, invoke, type Sent } from './invoke.ts'
import type { FunctionLine } from './log-lines.ts'
import type { Lease, Processes } from './processes.ts'
import { newRequestId } from './request-id.ts'

export type FunctionRequest = { spec: FunctionSpec; call: FunctionCall }
/** `raw`: undefined where no visitor asks. `asker`: who takes turns, the visitor where it is not said. */
type Exchange =
  | { raw: IncomingMessage; response: ServerResponse }
  | { raw: undefined; response: Answering; asker: string }

/** What is done with a process while it is held. `signal`: the visitor left, or the time is over. */
type FunctionUse<T> = (lease: Lease, sent: Sent, signal: AbortSignal) => Promise<T>

export type Functions = {
  /** Answers by a function. Gives a failure where nothing was sent to the visitor yet; throws errors afterwards, and RoutingError. */
  answer(request: FunctionRequest, exchange: Exchange): Promise<FunctionFailure | undefined>
  /** Asks a function without the visitor's body. Gives what `use` gives, a failure as `answer` does, or `gone` where the visitor left. */
  ask<T>(request: FunctionRequest, exchange: Exchange, use: FunctionUse<T>): Promise<T | FunctionFailure | 'gone'>
  close(): Promise<void>
}

export type FunctionParts = {
  processes: Processes
  /** Lets a visitor send the body that waits for `100 Continue`. */
  letContinue(raw: IncomingMessage, response: ServerResponse): void
  writeLine(spec: FunctionSpec, line: FunctionLine): void
  begin: FunctionLog['begin']
  count: Usage['countFunction']
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
  const run = <T>(request: FunctionRequest, exchange: Exchange, takesBody: boolean, use: FunctionUse<T>) =>
    runWithin(parts, slots, { ...request, takesBody, use }, exchange)
  return {
    async answer(request, exchange) {
      const use: FunctionUse<undefined> = async (lease, sent, signal) => {
        await invoke(lease, sent, exchange.response, signal)
        return undefined
      }
      const outcome = await run(request, exchange, true, use)
      return outcome === 'gone' ? undefined : outcome
    },
    ask: (request, exchange, use) => run(request, exchange, false, use),
    close: () => parts.processes.close(),
  }
}

/** The log has each request once, with the status that its visitor got. Call the result where the function does not answer: perhaps no visitor waits. */
function observe(
  { begin }: FunctionParts,
  { spec, call: { request } }: FunctionRequest,
  response: Answering,
  requestId: string,
): (failure: FunctionFailure) => void {
  const { method, host, path } = request
  const facts = { requestId, method: method.slice(0, 20), host: host.slice(0, 260), path: path.slice(0, 500) }
  const end = begin(spec, facts)
  let failed = 0
  const onClose = () => end(response.headersSent ? response.statusCode : failed)
  if (response.destroyed) onClose()
  else response.once('close', onClose)
  return ({ code }) => {
    failed = FUNCTION_ERRORS[code]
  }
}

type Job<T> = FunctionRequest & { takesBody: boolean; use: FunctionUse<T> }

async function runWithin<T>(
  parts: FunctionParts,
  slots: SharedSlots,
  job: Job<T>,
  exchange: Exchange,
): Promise<T | FunctionFailure | 'gone'> {
  const { response } = exchange
  // A middleware and the function after it have one id.
  const given = response.getHeader(ID_HEADER)
  const id = given === undefined ? newRequestId() : String(given)
  if (given === undefined) response.setHeader(ID_HEADER, id)
  const noteFailure = given === undefined ? observe(parts, job, response, id) : undefined
  try {
    return await onProcess(parts, slots, job, exchange, id)
  } catch (error) {
    if (!(error instanceof FunctionFailure)) throw error
    // The visitor left while they waited.
    if (response.destroyed) return 'gone'
    const failure = named(job.spec, error)
    tell(parts, job.spec, id, failure)
    noteFailure?.(failure)
    return failure
  }
}

async function onProcess<T>(
  parts: FunctionParts,
  slots: SharedSlots,
  job: Job<T>,
  exchange: Exchange,
  id: string,
): Promise<T | 'gone'> {
  const { spec, call, takesBody } = job
  const { raw, response } = exchange
  if (takesBody && Number(raw?.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const { gone, forget } = goneWith(response)
  const address = exchange.raw === undefined ? exchange.asker : networkOf(call.ip ?? '')
  if (!(await slots.acquire(spec.account, address, WAIT_MS, gone))) {
    forget()
    throw new FunctionFailure('FUNCTION_THROTTLED', 'too many requests run')
  }
  try {
    const lease = await parts.processes.acquire(spec, gone)
    try {
      return await runOn(parts, lease, job, exchange, { id, gone })
    } finally {
      lease.release()
    }
  } finally {
    slots.release(spec.account, address)
    forget()
  }
}

type Running = { id: string; gone: AbortSignal }

/** Uses a process for as long as the function may take. */
async function runOn<T>(
  parts: FunctionParts,
  lease: Lease,
  { spec, call, takesBody, use }: Job<T>,
  exchange: Exchange,
  { id, gone }: Running,
): Promise<T | 'gone'> {
  const { raw, response } = exchange
  const { 'content-length': length, 'transfer-encoding': coding } = raw?.headers ?? {}
  const isSent = takesBody && (coding !== undefined || Number(length ?? 0) > 0)
  if (isSent && exchange.raw !== undefined) parts.letContinue(exchange.raw, exchange.response)
  const body = isSent && raw !== undefined ? bodyWithin(raw, MAX_BODY_BYTES, tooLarge) : undefined
  const sent = { id, call, body, length: isSent ? length : undefined }
  const ending = new AbortController()
  const leave = () => ending.abort()
  gone.addEventListener('abort', leave, { once: true })
  if (gone.aborted) leave()
  let isLate = false
  const limitMs = maxDurationMs(spec)
  const begun = performance.now()
  let isError = false
  const timer = setTimeout(() => {
    isLate = true
    ending.abort()
  }, limitMs)
  try {
    const done = await use(lease, sent, ending.signal)
    isError = response.headersSent && response.statusCode >= 500
    return done
  } catch (error) {
    if (!isLate && gone.aborted) return 'gone'
    isError = true
    if (!isLate) throw error
    // The process may be busy for ever. Its other requests may end.
    lease.end()
    const failure = new FunctionFailure('FUNCTION_INVOCATION_TIMEOUT', `Task timed out after ${limitMs / 1000} seconds`)
    if (!response.headersSent) throw failure
    tell(parts, spec, id, named(spec, failure))
    response.destroy()
    return 'gone'
  } finally {
    clearTimeout(timer)
    gone.removeEventListener('abort', leave)
    const { deploymentId, bundle } = spec
    parts.count({ deploymentId, name: bundle.name, ms: performance.now() - begun, isError })
  }
}

function tooLarge(): FunctionFailure {
  return new FunctionFailure('FUNCTION_PAYLOAD_TOO_LARGE', `a body has at most ${MAX_BODY_BYTES / 1024 ** 2} MiB`)
}

/** `forget`: a response outlives the middleware that is asked for it. */
function goneWith(response: Answering): { gone: AbortSignal; forget(): void } {
  const leaving = new AbortController()
  const leave = () => {
    if (!response.writableFinished) leaving.abort()
  }
  response.once('close', leave)
  if (response.destroyed) leaving.abort()
  return { gone: leaving.signal, forget: () => void response.off('close', leave) }
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
