/** One question to a process that runs a middleware. docs/functions.md: Middleware. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { answerHeaders, failureOf, faultIn, requestOf, type Sent } from '../functions/invoke.ts'
import type { Lease } from '../functions/processes.ts'
import type { Decision, Pair } from '../router/decision.ts'
import type { MiddlewareAnswer } from '../router/middleware.ts'
import { becomes } from '../static/send.ts'
import { drain, hasNoBody } from '../visitors/send.ts'

type Asking = {
  exchange: { raw: IncomingMessage; response: ServerResponse }
  signal: AbortSignal
  decide(answer: MiddlewareAnswer): Promise<Decision>
}

/** Limits of a body that nothing reads, where routing goes on. */
const [DUMP_BYTES, DUMP_MS] = [64 * 1024, 1000]
/** A visitor who reads nothing for this time is disconnected. */
const TIMEOUT_MS = 60_000

/** Gives how routing goes on, or `done` once the visitor has the answer of the middleware. Throws FunctionFailure before anything is sent. */
export async function askProcess(lease: Lease, sent: Sent, asking: Asking): Promise<Decision | 'done'> {
  const { exchange, signal, decide } = asking
  const { statusCode, headers, body } = await askFor(lease, sent, signal)
  const decision = await decide({ status: statusCode, headers: pairsOf(headers) }).catch(async (error) => {
    body.destroy()
    throw error
  })
  if (decision.kind !== 'answer') {
    body.dump({ limit: DUMP_BYTES, signal: AbortSignal.timeout(DUMP_MS) }).catch(() => {})
    return decision
  }
  drain(exchange.raw, exchange.response)
  const { response } = exchange
  response.writeHead(decision.status, headersOf(headers, sent, decision))
  response.flushHeaders()
  for await (const piece of body) {
    if (!response.write(piece)) await becomes(response, 'drain', TIMEOUT_MS)
    if (response.destroyed) return 'done'
  }
  response.end()
  return 'done'
}

async function askFor(lease: Lease, sent: Sent, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const answer = await lease.connections.pool.request({ ...requestOf(sent), signal }).catch(async (error) => {
    throw signal.aborted ? error : await failureOf(lease, error)
  })
  // The reader of a body that ends early has the error too.
  answer.body.on('error', () => {})
  const fault = faultIn(answer.headers)
  if (fault === undefined) return answer
  await answer.body.dump()
  throw fault
}

function pairsOf(headers: Dispatcher.ResponseData['headers']): Pair[] {
  return Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((item): Pair => [name, item]))
}

/** The decision has the cookies already, and not what describes the body. */
function headersOf(
  headers: Dispatcher.ResponseData['headers'],
  sent: Sent,
  decision: Extract<Decision, { kind: 'answer' }>,
) {
  const own = Object.entries(headers).filter(([name]) => name !== 'set-cookie' && !name.startsWith('x-middleware-'))
  const answered = { ...sent, call: { ...sent.call, rules: decision } }
  return answerHeaders(Object.fromEntries(own), answered, !hasNoBody(decision.status))
}
