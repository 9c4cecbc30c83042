/** A server that speaks this API, as an import asks it: the one where things are, or this one. docs/moving-in.md: How it asks. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isNoName } from '../../command-line/command.ts'
import { Refused } from '../ask.ts'

/** An answer that takes longer than this, from the first byte to the last, is given up. */
const TIMEOUT_MS = 60_000
/** A list of 20 projects with 300 variables each weighs less. */
const MOST_BYTES = 32 * 1024 * 1024
const MOST_PAGES = 10_000
/** What did not come about is asked for again so often, after a pause that doubles from FIRST_PAUSE_MS. */
const MOST_TRIES = 6
const FIRST_PAUSE_MS = 500
/** A server that wants a longer pause than this is told to the person, who runs the import again later. */
const LONGEST_PAUSE_MS = 15 * 60_000
const MOST_PAUSES = 30
const NOTICED_MS = 5000

// biome-ignore lint/suspicious/noExplicitAny: an answer of any server; whoever reads a field looks what it is
export type Item = Record<string, any>

export type Server = {
  origin: string
  /** The path of the team for which is asked, or undefined for a personal account. */
  team: string | undefined
  /** The answer. Throws Refused. */
  get(path: string): Promise<unknown>
  /** As `get`; undefined where there is no such thing, or the server does not know the path. */
  find(path: string): Promise<unknown>
  /**
   * The items of a list, page by page. Of several paths the first that the server knows: servers have it at other versions. Throws Refused
   * where it knows none, unless it may be `absent`.
   */
  list(paths: readonly string[], name: string, absent?: 'absent'): AsyncGenerator<Item>
  /** Writes once, also when it is sent again because no answer came. Throws Refused. */
  write(method: 'POST' | 'PATCH' | 'PUT', path: string, body?: object): Promise<unknown>
}

export type ServerOptions = {
  origin: string
  token: string
  /** Id or slug. */
  team?: string | undefined
  fetch?: typeof fetch
  /** Tells a person of a pause that they would notice. */
  say?: (text: string) => void
  /** Waits; a test counts instead. */
  pause?: (ms: number) => Promise<unknown>
}

/** Opens no connection yet. */
export function openServer({
  origin,
  token,
  team,
  fetch: ask = fetch,
  pause: wait = sleep,
  say,
}: ServerOptions): Server {
  const pause = (ms: number) => {
    if (ms >= NOTICED_MS) say?.(`waiting ${Math.ceil(ms / 1000)} s for ${origin}`)
    return wait(ms)
  }
  /** No request is sent before this moment: the server said how many more it takes. */
  let resumesAt = 0

  async function send(method: string, path: string, body?: object): Promise<unknown> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(method !== 'GET' && { 'idempotency-key': randomUUID() }),
    }
    const request = { method, headers, redirect: 'error' as const, ...(body && { body: JSON.stringify(body) }) }
    const patience = openPatience()
    for (;;) {
      const early = resumesAt - Date.now()
      if (early > 0) await pause(early)
      const answer = await askOnce(ask, `${origin}${addTeam(path, team)}`, request).catch((error) => error as Error)
      if (answer instanceof Unreadable) throw answer
      if (!(answer instanceof Error) && answer.status < 300) {
        resumesAt = answer.resumesAt
        return answer.body
      }
      const ms = patience(answer)
      if (ms !== undefined) await pause(ms)
      else if (answer instanceof Error) throw new Error(`${origin} does not answer`, { cause: causeOf(answer) })
      else throw refusedBy(`${origin}${path.replace(/\?.*/, '')}`, answer)
    }
  }

  const get = (path: string) => send('GET', path)
  const find = (path: string) => get(path).catch(unlessAbsent)
  async function* list(paths: readonly string[], name: string, absent?: 'absent'): AsyncGenerator<Item> {
    const [path = '', ...others] = paths
    const isLast = others.length === 0
    const first = (await (isLast && !absent ? get(path) : find(path))) as Item | undefined
    if (first !== undefined) yield* listOf(get, { origin, path, name }, first)
    else if (!isLast) yield* list(others, name, absent)
  }
  return { origin, team, get, find, list, write: send }
}

/** Says after each answer that did not help, or none, how long to wait before the request is sent again. Undefined: it is given up. */
function openPatience(): (answer: Answer | Error) => number | undefined {
  let [failures, pauses] = [0, 0]
  return (answer) => {
    const wanted = answer instanceof Error ? undefined : answer.pauseMs
    if (!(answer instanceof Error) && answer.status === 429) {
      const ms = wanted ?? FIRST_PAUSE_MS * 2 ** Math.min(pauses, 7)
      return pauses++ < MOST_PAUSES && ms <= LONGEST_PAUSE_MS ? ms : undefined
    }
    if (!(answer instanceof Error) && answer.status < 500) return undefined
    return ++failures < MOST_TRIES ? (wanted ?? FIRST_PAUSE_MS * 2 ** (failures - 1)) : undefined
  }
}

type List = { origin: string; path: string; name: string }

/** Walks the pages of a list behind the first. Throws where a page leads to itself. */
async function* listOf(get: Server['get'], { origin, path, name }: List, first: Item): AsyncGenerator<Item> {
  let page = first
  let until: unknown
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    const items = Array.isArray(page) ? page : page[name]
    if (!Array.isArray(items)) throw new Error(`${origin}${path} answered no list of ${name}`)
    yield* items.filter((item) => typeof item === 'object' && item !== null)
    const next = page?.pagination?.next ?? null
    if (next === null) return
    if (next === until) throw new Error(`${origin}${path} answers a page that leads to itself`)
    until = next
    page = ((await get(withQuery(path, { until: String(until) }))) ?? {}) as Item
  }
  throw new Error(`${origin}${path} has more than ${MOST_PAGES} pages`)
}

type Answer = { status: number; body: unknown; pauseMs: number | undefined; resumesAt: number }
class Unreadable extends Error {}

async function askOnce(ask: typeof fetch, url: string, request: RequestInit): Promise<Answer> {
  const answer = await ask(url, { ...request, signal: AbortSignal.timeout(TIMEOUT_MS) })
  const text = await textOf(answer)
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  const resets = resetOf(answer.headers)
  const isLast = answer.headers.get('x-ratelimit-remaining') === '0'
  return {
    status: answer.status,
    body: parsed(url, text, isJson, answer.ok),
    pauseMs: retryOf(answer.headers) ?? (resets === undefined ? undefined : Math.max(0, resets - Date.now())),
    resumesAt: isLast && resets !== undefined ? Math.min(resets, Date.now() + LONGEST_PAUSE_MS) : 0,
  }
}

async function textOf(answer: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of answer.body ?? []) {
    bytes += piece.length
    if (bytes > MOST_BYTES)
      throw new Unreadable(
        `${answer.url} answered more than ${MOST_BYTES / 1024 / 1024} MiB, which no answer of this API is`,
      )
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

function parsed(url: string, text: string, isJson: boolean, isOk: boolean): unknown {
  if (text === '') return undefined
  try {
    if (isJson) return JSON.parse(text)
  } catch {
    // Told below, as an answer of another kind is.
  }
  if (!isOk) return undefined
  throw new Unreadable(`${url.replace(/\?.*/, '')} answered what is no JSON: is this the address of the API?`)
}

/** `Retry-After`, in seconds or as a date. */
function retryOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/** `X-RateLimit-Reset`, in seconds since the epoch. */
function resetOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get('x-ratelimit-reset') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : undefined
}

function refusedBy(address: string, { status, body }: Answer): Refused {
  const error = (body as { error?: { code?: string; message?: string } } | undefined)?.error ?? {}
  return new Refused(status, { ...error, message: `${address}: ${error.message ?? `answered ${status}`}` })
}

function unlessAbsent(error: unknown): undefined {
  if (error instanceof Refused && error.status === 404) return undefined
  throw error
}

function causeOf(error: Error): unknown {
  return (error.cause as Error | undefined)?.message ?? error.message
}

function addTeam(path: string, team: string | undefined): string {
  if (team === undefined) return path
  return withQuery(path, team.startsWith('team_') ? { teamId: team } : { slug: team })
}

/** The path with more in its query. */
export function withQuery(path: string, more: Record<string, string>): string {
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(more)}`
}

/**
 * A name as one segment of a path. Throws for what a server must not call anything: `..` would lead the request to another path, with the
 * token of whoever imports.
 */
export function segment(name: string): string {
  if (typeof name !== 'string' || isNoName(name))
    throw new Error(`a server calls something ${JSON.stringify(name)}, which is no name`)
  return encodeURIComponent(name)
}
