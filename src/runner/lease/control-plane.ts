/** HTTP client of the control plane for builds. docs/runner.md: Control plane. */
import type { Readable } from 'node:stream'
import { Ajv, type ValidateFunction } from 'ajv'
import { type Dispatcher, Pool } from 'undici'
import {
  type Beat,
  type BuildError,
  FileNames,
  type Finish,
  LEASE_PATH,
  LEASE_TIMES,
  Lease,
  type LeaseRequest,
  LeaseState,
  type LogBatch,
  leasePath,
  SourceEntry,
} from '../../delivery/protocol/runner-protocol.ts'
import { readWithin } from '../../platform/fairness/read-within.ts'
import { Type } from '../../platform/schema/builder.ts'
import { READERS } from '../../readers.ts'

/** `retry`: the same request may succeed later. `lease_lost`: nothing more may be sent for this lease. `fatal`: it never succeeds; with a `code`, `because` is for users. */
export type Answer<T> =
  | { outcome: 'done'; value: T }
  | { outcome: 'retry' | 'fatal'; because: string; code?: BuildError }
  | { outcome: 'lease_lost' }

type Outcome = Answer<unknown>['outcome']

/** The code of a 409 that ends the lease. Another one refuses the request alone. */
const LEASE_LOST = 'lease_lost'

/** TABLE code of a refused request → how the build fails, where a user can fix it. */
const REFUSALS: Readonly<Record<string, BuildError>> = { budget_used_up: 'BUILD_OUTPUT_REFUSED' }

/** TABLE status → outcome. Others: 2xx done, 5xx retry, the rest fatal. */
const ANSWERS: Readonly<Record<number, Outcome>> = {
  401: 'fatal',
  404: 'fatal',
  408: 'retry',
  409: 'lease_lost',
  425: 'retry',
  429: 'retry',
}

/** Returns the outcome of a status. */
export function outcomeOf(status: number): Outcome {
  return ANSWERS[status] ?? (status < 300 ? 'done' : status >= 500 ? 'retry' : 'fatal')
}

export type ControlPlane = {
  /** Requests the next build, and waits for one. `done` without a value: no build waits. */
  lease(request: LeaseRequest, stopping: AbortSignal): Promise<Answer<Lease | undefined>>
  /** Opens the paths below a lease. */
  below(lease: Lease): LeaseChannel
  close(): Promise<void>
}

/** No method throws: a broken connection is `retry`. `signal` aborts a request, which is `retry` too. */
export type LeaseChannel = {
  beat(step: Beat['step'], timeoutMs: number): Promise<Answer<LeaseState>>
  log(batch: LogBatch, signal: AbortSignal): Promise<Answer<LeaseState>>
  source(signal: AbortSignal): Promise<Answer<SourceEntry[]>>
  /** The bytes must be read to the end, or destroyed. They are not verified. */
  sourceFile(sha256: string, signal: AbortSignal): Promise<Answer<Readable>>
  missing(sha256: readonly string[], signal: AbortSignal): Promise<Answer<string[]>>
  sendFile(sha256: string, size: number, bytes: Readable, signal: AbortSignal): Promise<Answer<void>>
  finish(report: Finish, signal: AbortSignal): Promise<Answer<void>>
}

const CONNECT_MS = 3000
const ANSWER_MS = 30_000
/** A body that sends nothing for this time is aborted. */
const STALL_MS = 30_000
/** The control plane may start to answer after the end of its own wait. */
const LATE_MS = 10_000
/** Of files alone. All else has a connection at once: a beat must not wait for a file, nor for a request that is held open. */
const FILE_CONNECTIONS = 32
const { bytes: MAX_ANSWER } = READERS['answer to a runner']

const ajv = new Ajv({ allowUnionTypes: true })
const isLease = ajv.compile(Lease)
const isState = ajv.compile(LeaseState)
const isSource = ajv.compile(Type.Array(SourceEntry, { maxItems: READERS['answer to a runner'].parts }))
const areNames = ajv.compile(FileNames)

type Ask = {
  method: 'GET' | 'POST' | 'PUT'
  path: string
  token: string
  body?: string | Readable
  bytes?: number
  signal?: AbortSignal
  headersTimeout?: number
}

/** Opens a client of the control plane at `origin`. `token`: BERTH_RUNNER_TOKEN, which opens the queue alone. */
export function openControlPlane(origin: string, token: string): ControlPlane {
  const options = { pipelining: 1, connect: { timeout: CONNECT_MS }, bodyTimeout: STALL_MS, keepAliveTimeout: 20_000 }
  const pool = new Pool(origin, options)
  const files = new Pool(origin, { ...options, connections: FILE_CONNECTIONS })
  return {
    lease(request, signal) {
      const body = JSON.stringify(request)
      const headersTimeout = LEASE_TIMES.pollMs + LATE_MS
      return ask(pool, { method: 'POST', path: LEASE_PATH, token, body, signal, headersTimeout }, (answer) =>
        answer.statusCode === 204 ? undefined : readJson<Lease>(answer.body, isLease),
      )
    },
    below: (lease) => openChannel(pool, files, lease),
    close: async () => void (await Promise.all([pool.destroy(), files.destroy()])),
  }
}

function openChannel(pool: Pool, files: Pool, lease: Lease): LeaseChannel {
  const { token } = lease
  const post = (rest: string, body: object, signal: AbortSignal): Ask => ({
    method: 'POST',
    path: leasePath(lease, rest),
    token,
    body: JSON.stringify(body),
    signal,
  })
  const stateOf = ({ body }: Dispatcher.ResponseData) => readJson<LeaseState>(body, isState)
  return {
    beat: (step, timeoutMs) => ask(pool, post('beat', { step }, AbortSignal.timeout(timeoutMs)), stateOf),
    log: (batch, signal) => ask(pool, post('log', batch, signal), stateOf),
    source: (signal) =>
      ask(pool, { method: 'GET', path: leasePath(lease, 'source'), token, signal }, async ({ body }) =>
        readSource(await readText(body)),
      ),
    sourceFile: (sha256, signal) =>
      ask(files, { method: 'GET', path: leasePath(lease, `source/${sha256}`), token, signal }, ({ body }) => body),
    missing: (sha256, signal) =>
      ask(
        pool,
        post('missing', { sha256 }, signal),
        async ({ body }) => (await readJson<FileNames>(body, areNames)).sha256,
      ),
    sendFile: (sha256, bytes, body, signal) =>
      ask(files, { method: 'PUT', path: leasePath(lease, `output/${sha256}`), token, body, bytes, signal }, dump),
    finish: (report, signal) => ask(pool, post('finish', report, signal), dump),
  }
}

/** Sends a request. A response that cannot be read is `retry`, like a broken connection. */
async function ask<T>(
  pool: Pool,
  { method, path, token, body, bytes, signal, headersTimeout = ANSWER_MS }: Ask,
  read: (answer: Dispatcher.ResponseData) => T | Promise<T>,
): Promise<Answer<T>> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && {
      'content-type': typeof body === 'string' ? 'application/json' : 'application/octet-stream',
    }),
    ...(bytes !== undefined && { 'content-length': String(bytes) }),
  }
  try {
    const answer = await pool.request({
      method,
      path,
      headers,
      headersTimeout,
      body: body ?? null,
      signal: signal ?? null,
    })
    const outcome = outcomeOf(answer.statusCode)
    if (outcome === 'done') return { outcome, value: await read(answer) }
    const text = await readText(answer.body)
    const { code = '', message } = errorIn(text)
    if (outcome === 'lease_lost' && code === LEASE_LOST) return { outcome }
    const reason = outcome === 'lease_lost' ? 'fatal' : outcome
    const refusal = REFUSALS[code]
    if (refusal !== undefined && message !== undefined) return { outcome: reason, because: message, code: refusal }
    const shown = text.slice(0, 500).trim()
    return {
      outcome: reason,
      because: `the control plane answered ${answer.statusCode} to ${method} ${path}: ${shown}`,
    }
  } catch (error) {
    const { message } = error as Error
    return { outcome: 'retry', because: `the control plane did not answer ${method} ${path}: ${message}` }
  }
}

/** Code and sentence of an error. A proxy on the way may answer with something else. */
function errorIn(text: string): { code?: string; message?: string } {
  try {
    return Object(JSON.parse(text)?.error)
  } catch {
    return {}
  }
}

type Body = Dispatcher.ResponseData['body']

async function dump({ body }: Dispatcher.ResponseData): Promise<void> {
  await body.dump()
}

async function readJson<T>(body: Body, isValid: ValidateFunction): Promise<T> {
  return parseAnswer<T>(await readText(body), isValid)
}

/** A response that is not of the protocol. */
export class WrongAnswer extends Error {}

/** Parses the list of a source. Throws WrongAnswer. */
export function readSource(text: string): SourceEntry[] {
  return parseAnswer<SourceEntry[]>(text, isSource)
}

function parseAnswer<T>(text: string, isValid: ValidateFunction): T {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new WrongAnswer('the response is not JSON')
  }
  if (!isValid(value)) throw new WrongAnswer(`wrong response: ${ajv.errorsText(isValid.errors?.slice(0, 1))}`)
  return value as T
}

async function readText(body: Body): Promise<string> {
  const bytes = await readWithin(body, MAX_ANSWER, () => new Error(`a response of more than ${MAX_ANSWER} bytes`))
  return bytes.toString()
}
