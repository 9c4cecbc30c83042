/** Requests to the running service, at HOST and PORT or BERTH_PUBLIC_URL. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Config, listenOrigin } from '../../config.ts'
import { createTrustedFetch } from '../../operations/doctor/network/trusted-fetch.ts'
import { describeError, readText } from '../../platform/adapters/file-errors.ts'
import { readAtMost } from '../../platform/fairness/bounded-body.ts'
import { BadUsage, isEmptyOrDotSegment } from '../command-line/command.ts'
import { oneLine } from '../command-line/print.ts'
import { redirectMessage } from './import/response.ts'

export type ServiceRequest = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  /** An object is sent as JSON, a text as text. */
  body?: object | string
  /** The token: of the operator, of a client of the public API, or none. */
  as: 'operator' | 'client' | 'anyone'
  /** The paginated list of the response: all pages are requested. */
  list?: string
}

export type LineError = { line: number; message: string }

export class ServiceError extends Error {
  readonly status: number
  readonly code: string | undefined
  /** The invalid lines of the sent text, if any. */
  readonly lines: LineError[] | undefined

  constructor(status: number, { code, message, lines }: { code?: string; message?: string; lines?: LineError[] }) {
    super(oneLine(message ?? `the service answered ${status}`))
    this.status = status
    this.code = code
    this.lines = lines
  }
}

const MAX_PAGES = 1000
/** The number and duration of waits after a rate limit. */
const MAX_WAITS = 10
const MAX_WAIT_S = 60
/** The time limit of a complete response. */
const TIMEOUT_MS = 60_000

/**
 * Returns the response: parsed JSON, text, or undefined for an empty one. Throws ServiceError with the service's message, and Error without a complete
 * response within `timeoutMs`, or for a redirect.
 */
export async function callService(config: Config, asking: ServiceRequest, timeoutMs = TIMEOUT_MS): Promise<unknown> {
  if (asking.list === undefined) return askOnce(config, asking, timeoutMs)
  const all: unknown[] = []
  for (let until = '', pages = 0; pages < MAX_PAGES; pages++) {
    const page = (await askOnce(config, { ...asking, path: asking.path + until }, timeoutMs)) as Page
    all.push(...(page[asking.list] as unknown[]))
    if (page.pagination.next === null) break
    until = `&until=${page.pagination.next}`
  }
  return { [asking.list]: all }
}
type Page = Record<string, unknown> & { pagination: { next: number | null } }

/**
 * Returns a path with arguments as complete segments. Throws BadUsage for an empty one, `.` or `..`: URL normalization would change the path, for
 * example to the parent object.
 */
export function servicePath(root: string, parts: readonly (string | undefined)[]): string {
  const segments = parts.map((part = '') => {
    if (isEmptyOrDotSegment(part)) throw new BadUsage(`"${part}" is neither a name nor an id`)
    return encodeURIComponent(part)
  })
  return [root, ...segments].join('/')
}

/** Returns the query of a path, with `?`; empty where no value is given. */
export function queryText(query: Record<string, string | number | undefined>): string {
  const present = Object.entries(query).filter(([, value]) => value !== undefined)
  return present.length === 0 ? '' : `?${new URLSearchParams(present.map(([name, value]) => [name, String(value)]))}`
}

/** The time limit of the local service. */
const HERE_MS = 5000
/** The service address per configuration. */
const found = new WeakMap<Config, Promise<string>>()

/**
 * Returns the address of the service: HOST and PORT if the Berth of BERTH_PUBLIC_URL listens there, because a machine may not reach its own public
 * address (NAT, container, split DNS); otherwise BERTH_PUBLIC_URL. Another server there gets no token: its issuer, read without one, must match.
 * docs/operations.md: Service address of commands.
 */
export function serviceOrigin(config: Config): Promise<string> {
  const origin = found.get(config) ?? findOrigin(config)
  found.set(config, origin)
  return origin
}

async function findOrigin(config: Config): Promise<string> {
  const { publicUrl } = config
  const here = listenOrigin(config)
  if (publicUrl === undefined || publicUrl === here) return here
  return (await issuerAt(here, config)) === publicUrl ? here : publicUrl
}

/** The issuer of a service (RFC 8414); undefined without a response. */
async function issuerAt(origin: string, config: Config): Promise<unknown> {
  try {
    const fetch = await createTrustedFetch(config)
    const signal = AbortSignal.timeout(HERE_MS)
    const answer = await fetch(`${origin}/.well-known/oauth-authorization-server`, { signal, redirect: 'manual' })
    const text = await readAtMost(answer.body, MAX_METADATA)
    return text && (JSON.parse(text.toString()) as { issuer?: unknown }).issuer
  } catch {
    return undefined
  }
}

/** The document has some 9 KB. */
const MAX_METADATA = 64 * 1024

async function askOnce(
  config: Config,
  { method, path, body, as }: ServiceRequest,
  timeoutMs: number,
): Promise<unknown> {
  const origin = await serviceOrigin(config)
  const fetch = await createTrustedFetch(config)
  const isText = typeof body === 'string'
  const headers = {
    ...(as !== 'anyone' && { authorization: `Bearer ${tokenOf(config, as)}` }),
    ...(body !== undefined && { 'content-type': isText ? 'text/plain' : 'application/json' }),
  }
  const request = { method, headers, ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }) }
  for (let waits = 0; ; waits++) {
    const { status, text, isJson, waitS } = await readAnswer(fetch, origin, path, request, timeoutMs)
    if (status < 300) return text === '' ? undefined : isJson ? parsed(origin, text) : text
    if (status === 429 && waitS <= MAX_WAIT_S && waits < MAX_WAITS) {
      await sleep(Math.max(0, waitS) * 1000)
      continue
    }
    throw new ServiceError(status, isJson ? errorIn(text) : {})
  }
}

function parsed(origin: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${origin} answered something that is not JSON; set BERTH_PUBLIC_URL to the address of the service`)
  }
}

/** The error of a response; empty for one of another program, such as a proxy. */
function errorIn(text: string): Partial<Record<'code' | 'message', string>> & { lines?: LineError[] } {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } }
    return typeof error?.message === 'string' ? (error as { message: string }) : {}
  } catch {
    return {}
  }
}

/** A complete response. `waitS`: the requested wait, NaN without one. */
async function readAnswer(ask: typeof fetch, origin: string, path: string, request: RequestInit, timeoutMs: number) {
  const url = `${origin}${path}`
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const answer = await ask(url, { ...request, signal, redirect: 'manual' })
    const elsewhere = redirectMessage(url, answer)
    if (elsewhere !== undefined)
      throw new Elsewhere(`${elsewhere}. Set BERTH_PUBLIC_URL to the address of the service itself`)
    return {
      status: answer.status,
      text: await answer.text(),
      isJson: answer.headers.get('content-type')?.includes('json') === true,
      waitS: Number(answer.headers.get('retry-after') ?? Number.NaN),
    }
  } catch (error) {
    if (error instanceof Elsewhere) throw error
    if (signal.aborted)
      throw new Error(`${origin} did not end its answer within ${timeoutMs / 1000} s; look at /readyz of the service`)
    throw new Error(`no service responds at ${origin}; start it or set BERTH_PUBLIC_URL`, {
      cause: (error as Error).cause,
    })
  }
}
class Elsewhere extends Error {}

/** Returns the token for the public API. Throws where it is not set. */
export function clientToken(config: Config): string {
  return tokenOf(config, 'client')
}

const TOKENS = {
  operator: { setting: 'BERTH_OPERATOR_TOKEN', field: 'operatorToken', called: 'operator token' },
  client: { setting: 'BERTH_TOKEN', field: 'token', called: 'token' },
} as const

function tokenOf(config: Config, as: keyof typeof TOKENS): string {
  const { setting, field, called } = TOKENS[as]
  const setToken = as === 'operator' ? config.operatorToken : config.clientToken
  if (setToken !== undefined) return setToken
  let credentials: Record<string, string>
  try {
    credentials = readCredentials(config)
  } catch (error) {
    throw new Error(`${describeError(error)}; or set ${setting} to the ${called}`)
  }
  const token = credentials[field]
  if (token === undefined) throw new Error(`${credentialsFile(config)} holds no ${called}: set ${setting}`)
  return token
}

/** Returns the credentials of the first start. Throws where the file is missing or not JSON. */
export function readCredentials(config: Config): Record<string, string> {
  const file = credentialsFile(config)
  if (!existsSync(file)) throw new Error(`${file} is not there: start Berth once, or set BERTH_DATA to its data folder`)
  const text = readText(file)
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`${file} is not JSON: fix it, or restore it from your backup`)
  }
}

/** Returns the path of the credentials file: ids, the first token, the operator token. */
export function credentialsFile({ dataDirectory }: Config): string {
  return join(dataDirectory, 'credentials.json')
}
