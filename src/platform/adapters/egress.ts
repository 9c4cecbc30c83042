/**
 * HTTP to addresses that users chose, for webhooks and log drains. It blocks private networks: it checks an address in the URL, every address of a
 * name, and the connected address. It follows no redirect, and limits time and size. docs/spec/reliability.md 2f.
 */
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import type { Agent, buildConnector, Dispatcher } from 'undici'
import { READERS } from '../../readers.ts'
import type { Dns } from './dns.ts'

export type OutgoingRequest = {
  url: string
  headers: Record<string, string>
  body: string
  /** The account that set the URL. It has its own share of DNS slots, and its own connections. */
  accountId: string
}
/** A status with the first KiB of the body, or the reason for a missing response. */
export type OutgoingResult =
  | { statusCode: number; response: string; retryAfter: string | undefined }
  | { error: string }

/** A request to forward. `accountId`: the account whose rule has the destination. */
type Forwarded = {
  url: string
  method: string
  headers: Record<string, string>
  body: Readable | null
  accountId: string
}
export type ForwardedAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>

/** A forwarded request without a response. Its message names no address. */
export class Unanswered extends Error {
  /** Whether it timed out. */
  readonly isLate: boolean

  constructor(message: string, isLate: boolean) {
    super(message)
    this.isLate = isLate
  }
}

export type Egress = {
  /**
   * Forwards a request and streams the response to `take`, whose errors are rethrown. `signal` aborts it. A response starts within 30 s, with no pause
   * above a minute. Throws Unanswered.
   */
  forward(request: Forwarded, signal: AbortSignal, take: (answer: ForwardedAnswer) => Promise<void>): Promise<void>

  /** Posts. It never throws: a failure is the `error` of the result. `signal` can abort it early. */
  post(request: OutgoingRequest, signal: AbortSignal): Promise<OutgoingResult>
  close(): Promise<void>
}

/** For lookup, connection, request and the complete response. */
const TIMEOUT_MS = 15_000
const { bytes: MAX_READ, parts: MAX_CHUNKS } = READERS['answer of a receiver']
const KEPT = 1024
/** Of a forwarded request: the limit for the start of the response. */
const BEGIN_MS = 30_000
const PAUSE_MS = 60_000
/** How long an idle connection is reused. It is short, because a delivery fails if its receiver closes the connection at that time. */
const IDLE_MS = 2000

class Forbidden extends Error {}

/** Opens egress. `may`: the allowed addresses. `timeoutMs` is for tests. */
export function openEgress(dns: Dns, may: (address: string) => boolean, timeoutMs = TIMEOUT_MS): Egress {
  const agents = openAgents(dns, may)
  return {
    async post({ url, headers, body, accountId }, signal) {
      const wrong = urlError(url)
      if (wrong !== undefined) return { error: wrong }
      const end = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      try {
        return await agents.use(accountId, async (dispatcher, request) => {
          const answer = await request(url, { dispatcher, method: 'POST', headers, body, signal: end })
          const response = await readStart(answer.body)
          const after = answer.headers['retry-after']
          return { statusCode: answer.statusCode, response, retryAfter: typeof after === 'string' ? after : undefined }
        })
      } catch (error) {
        return { error: sentenceOf(error, timeoutMs) }
      }
    },
    async forward({ accountId, url, ...sent }, signal, take) {
      const wrong = urlError(url)
      if (wrong !== undefined) throw new Unanswered(wrong, false)
      await agents.use(accountId, async (dispatcher, request) => {
        const options = { ...sent, dispatcher, signal, headersTimeout: BEGIN_MS, bodyTimeout: PAUSE_MS }
        const answer = await request(url, options as Parameters<typeof request>[1]).catch((error) => {
          const isLate = /TIMEOUT/.test(error.code ?? '')
          throw new Unanswered(isLate ? 'no answer in time' : sentenceOf(error, BEGIN_MS), isLate)
        })
        await take(answer)
      })
    },
    close: agents.close,
  }
}

type Undici = typeof import('undici')

/** One agent per account. A connector does not know its request, but must look up names in the DNS share of one account (dns.ts). */
function openAgents(dns: Dns, may: (address: string) => boolean) {
  const agents = new Map<string, { agent: Agent; posts: number; idle?: NodeJS.Timeout }>()
  // Loaded at the first delivery, for a faster start.
  let undici: Promise<Undici> | undefined
  return {
    async use<T>(accountId: string, post: (agent: Agent, request: Undici['request']) => Promise<T>): Promise<T> {
      undici ??= import('undici')
      const { Agent, buildConnector, request } = await undici
      let own = agents.get(accountId)
      if (own === undefined) {
        const connect = guarded(buildConnector, dns, may, accountId)
        own = { agent: new Agent({ connect, allowH2: false, pipelining: 1, keepAliveTimeout: IDLE_MS }), posts: 0 }
        agents.set(accountId, own)
      }
      const { agent } = own
      clearTimeout(own.idle)
      own.posts++
      try {
        return await post(agent, request)
      } finally {
        own.posts--
        if (own.posts === 0) own.idle = setTimeout(() => agents.delete(accountId) && agent.destroy(), IDLE_MS).unref()
      }
    },
    async close() {
      await Promise.all([...agents.values()].map(({ agent }) => agent.destroy()))
    },
  }
}

/** Returns why a URL is not allowed, or undefined. */
export function urlError(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return 'the URL must begin with https:// or http://'
  if (url.username !== '' || url.password !== '') return 'the URL must not hold a user name or a password'
  return undefined
}

/** A connector that checks the address before and after it connects. */
function guarded(
  build: typeof buildConnector,
  dns: Dns,
  may: (address: string) => boolean,
  accountId: string,
): buildConnector.connector {
  const lookup = guardedLookup(dns, may, accountId)
  const connect = build({
    lookup,
    timeout: TIMEOUT_MS,
    allowH2: false,
    autoSelectFamily: true,
  } as buildConnector.BuildOptions)
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && !may(host)) return callback(new Forbidden(), null)
    connect(options, (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (may(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new Forbidden(), null)
    })
  }
}

/** A lookup of all addresses of a name. It fails when one of them is not allowed. */
function guardedLookup(dns: Dns, may: (address: string) => boolean, accountId: string): LookupFunction {
  return (name, _options, callback) => {
    addressesOf(dns, name, accountId).then(
      (addresses) => {
        if (!addresses.every(may)) return callback(new Forbidden(), [])
        callback(
          null,
          addresses.map((address) => ({ address, family: isIP(address) })),
        )
      },
      (error) => callback(error, []),
    )
  }
}

async function addressesOf(dns: Dns, name: string, accountId: string): Promise<string[]> {
  if (/^(.+\.)?localhost\.?$/i.test(name)) return ['127.0.0.1', '::1']
  const [v4, v6] = await Promise.all([dns.readA(name, accountId), dns.readAaaa(name, accountId)])
  const addresses = [...(v4 ?? []), ...(v6 ?? [])]
  if (addresses.length > 0) return addresses
  throw new Error(v4 && v6 ? 'the name has no address' : 'the name servers did not answer')
}

/** Returns the first KiB of a response. It stops reading after 64 KiB or very many small chunks. Throws for an incomplete response. */
export async function readStart(body: AsyncIterable<Buffer>): Promise<string> {
  let head = Buffer.alloc(0)
  let [read, chunks] = [0, 0]
  for await (const chunk of body) {
    if (head.length < KEPT) head = Buffer.concat([head, chunk.subarray(0, KEPT - head.length)])
    read += chunk.length
    if (read > MAX_READ || ++chunks > MAX_CHUNKS) break
  }
  // PostgreSQL cannot store a NUL character.
  return head.toString('utf8').replaceAll('\0', '\uFFFD')
}

/** Describes a failure without addresses of this network. */
function sentenceOf(error: unknown, timeoutMs: number): string {
  const { name, code, message } = error as { name: string; code?: string; message: string }
  if (error instanceof Forbidden) return 'the address is private, local or reserved, and is not connected to'
  if (name === 'TimeoutError') return `no whole answer within ${timeoutMs / 1000} s`
  if (name === 'AbortError') return 'given up: the service stops'
  if (code === 'ECONNREFUSED') return 'the connection was refused'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'no connection in time'
  if (code === 'UND_ERR_SOCKET' || code === 'ECONNRESET') return 'the connection was closed before the answer was whole'
  return (code === undefined ? message : `${code}: ${message}`).slice(0, 200)
}
