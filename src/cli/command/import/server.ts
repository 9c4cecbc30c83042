/** A client of an import server, source or target. docs/moving-in.md: Requests and retries. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pluralize } from '../../../platform/base/text.ts'
import { truncateText } from '../../../platform/http/validate.ts'
import { isEmptyOrDotSegment } from '../../command-line/command.ts'
import { oneLine } from '../../command-line/print.ts'
import { ServiceError } from '../service-client.ts'
import { fetchOnce, MAX_PAUSE_MS, type ServerReply, Unreadable } from './response.ts'
import { itemsOf, mustBeObject, type ServerItem } from './schemas.ts'

/** The time limit of a complete response. */
const TIMEOUT_MS = 60_000
const MAX_PAGES = 10_000
/** Attempts per request. The pause doubles from FIRST_PAUSE_MS. */
const MAX_TRIES = 6
const FIRST_PAUSE_MS = 500
const MAX_PAUSES = 30
const NOTICED_MS = 5000

export type Server = {
  origin: string
  /** The path of the requested team, or undefined for a personal account. */
  team: string | undefined
  /** Returns the response. Throws ServiceError. */
  get(path: string): Promise<unknown>
  /** As `get`; undefined where the object or path does not exist. */
  find(path: string): Promise<unknown>
  /**
   * Yields the items of a list, page by page. Uses the first path that the server supports, because API versions differ. Throws ServiceError where it
   * supports none, unless it may be `absent`.
   */
  list(paths: readonly string[], name: string, absent?: 'absent'): AsyncGenerator<ServerItem>
  /** Writes once, also when a lost response causes a retry. Throws ServiceError. */
  write(method: 'POST' | 'PATCH' | 'PUT', path: string, body?: object): Promise<unknown>
}

export type ServerOptions = {
  origin: string
  token: string
  /** Id or slug. */
  team?: string | undefined
  fetch?: typeof fetch
  /** Reports a noticeable pause to the user. */
  say?: (text: string) => void
  /** Waits; tests replace it. */
  pause?: (ms: number) => Promise<unknown>
  /** The limit of a complete response; default TIMEOUT_MS. */
  timeoutMs?: number
}

/** The server gave no usable response: a later run may succeed. */
export class Unavailable extends Error {}

/** Creates the client, without a connection. */
export function openServer(options: ServerOptions): Server {
  const { origin, team } = options
  const send = openSender(options)
  const read = (path: string) => send('GET', path)
  const get = async (path: string) => mustBeObject(`${origin}${withoutQuery(path)}`, await read(path))
  const find = (path: string) => get(path).catch(unlessAbsent)
  async function* list(paths: readonly string[], name: string, absent?: 'absent'): AsyncGenerator<ServerItem> {
    const [path = '', ...others] = paths
    const isLast = others.length === 0
    const first = await (isLast && !absent ? read(path) : read(path).catch(unlessAbsent))
    if (first !== undefined) yield* listOf(read, { origin, path, name }, first)
    else if (!isLast) yield* list(others, name, absent)
  }
  return { origin, team, get, find, list, write: send }
}

type Send = (method: string, path: string, body?: object) => Promise<unknown>

/** Sends with retries, within the rate limits of the server. */
function openSender({
  origin,
  token,
  team,
  fetch: ask = fetch,
  pause: wait = sleep,
  timeoutMs = TIMEOUT_MS,
  say,
}: ServerOptions): Send {
  const pause = (ms: number) => {
    if (ms >= NOTICED_MS) say?.(`waiting ${Math.ceil(ms / 1000)} s for ${origin}`)
    return wait(ms)
  }
  /** No request is sent before this time, by the rate limit of the server. */
  let resumesAt = 0

  return async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
    }
    const request = { method, headers, redirect: 'manual' as const, ...(body && { body: JSON.stringify(body) }) }
    const timeout = createTimeouts()
    for (;;) {
      const early = resumesAt - Date.now()
      if (early > 0) await pause(early)
      const signal = AbortSignal.timeout(timeoutMs)
      const url = `${origin}${addTeam(path, team)}`
      const answer = await fetchOnce(ask, url, { ...request, signal }).catch((error) => error as Error)
      if (answer instanceof Unreadable) throw answer
      // The next response would take as long.
      if (answer instanceof Error && signal.aborted)
        throw new Unavailable(`${origin}${withoutQuery(path)} did not end its answer within ${timeoutMs / 1000} s`)
      if (!(answer instanceof Error) && answer.status < 300) {
        resumesAt = answer.resumesAt
        return answer.body
      }
      const ms = timeout(answer)
      if (ms !== undefined) await pause(ms)
      else if (answer instanceof Error) throw new Unavailable(`${origin} does not answer`, { cause: causeOf(answer) })
      else throw refusalOf(`${origin}${withoutQuery(path)}`, answer)
    }
  }
}

/** Returns the pause after each failed response. Undefined: no further retry. */
function createTimeouts(): (answer: ServerReply | Error) => number | undefined {
  let [failures, pauses] = [0, 0]
  return (answer) => {
    const pauseMs = answer instanceof Error ? undefined : answer.pauseMs
    if (!(answer instanceof Error) && answer.status === 429) {
      const ms = pauseMs ?? FIRST_PAUSE_MS * 2 ** Math.min(pauses, 7)
      return pauses++ < MAX_PAUSES && ms <= MAX_PAUSE_MS ? ms : undefined
    }
    if (!(answer instanceof Error) && answer.status < 500) return undefined
    return ++failures < MAX_TRIES ? (pauseMs ?? FIRST_PAUSE_MS * 2 ** (failures - 1)) : undefined
  }
}

type List = { origin: string; path: string; name: string }

/** Yields the pages of a list after the first. Throws where a page points to itself. */
async function* listOf(read: Server['get'], { origin, path, name }: List, first: unknown): AsyncGenerator<ServerItem> {
  let page = first
  let until: unknown
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const items = itemsOf(`${origin}${withoutQuery(path)}`, name, page)
    yield* items
    const next = (page as ServerItem).pagination?.next ?? null
    if (next === null) return
    if (next === until) throw new Error(`${origin}${path} returns a page that points to itself`)
    until = next
    page = await read(withQuery(path, { until: String(until) }))
  }
  throw new Error(`${origin}${path} has more than ${MAX_PAGES} pages`)
}

/** The error of a response: a limit or server failure says nothing about the request. */
function refusalOf(address: string, { status, body, pauseMs }: ServerReply): Error {
  const error = (body as { error?: { code?: string; message?: unknown } } | null | undefined)?.error ?? {}
  const message = typeof error.message === 'string' ? oneLine(error.message) : undefined
  const because = message === undefined ? '' : ` (${truncateText(message, 300)})`
  const until = pauseMs === undefined ? 'a while' : waitText(pauseMs)
  if (status === 429) return new Unavailable(`${address} limits how often it is asked${because}: wait ${until}`)
  if (status >= 500) return new Unavailable(`${address} answers ${status}${because}, again and again`)
  return new ServiceError(status, {
    ...(error.code && { code: error.code }),
    message: `${address}: ${message ?? `answered ${status}`}`,
  })
}

function waitText(ms: number): string {
  const minutes = Math.ceil(ms / 60_000)
  return minutes <= 120 ? pluralize(minutes, 'minute') : pluralize(Math.ceil(minutes / 60), 'hour')
}

function unlessAbsent(error: unknown): undefined {
  if (error instanceof ServiceError && error.status === 404) return undefined
  throw error
}

function causeOf(error: Error): unknown {
  return (error.cause as Error | undefined)?.message ?? error.message
}

function addTeam(path: string, team: string | undefined): string {
  if (team === undefined) return path
  return withQuery(path, team.startsWith('team_') ? { teamId: team } : { slug: team })
}

function withoutQuery(path: string): string {
  return path.replace(/\?.*/, '')
}

/** Returns the path with more query parameters. */
export function withQuery(path: string, more: Record<string, string>): string {
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(more)}`
}

/** Returns a name as one path segment. Throws for names such as `..`, which would send the request, with the token, to another path. */
export function segment(name: string): string {
  if (typeof name !== 'string' || isEmptyOrDotSegment(name))
    throw new Error(`a server calls something ${JSON.stringify(name)}, which is not a name`)
  return encodeURIComponent(name)
}
