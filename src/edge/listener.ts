/**
 * The listener that proxies ask, apart from the API: its own port, its own credential, and nothing but what is in memory.
 * Bare node:http, because it answers each visitor's request once more (docs/edge.md: A listener of its own).
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Deps } from '../context.ts'
import { addressOf } from '../http/failure-limits.ts'
import { openUnsent, type Unsent } from '../server/unsent.ts'
import { openAdmission } from './admit.ts'
import { type Answer, checkForNginx, checkForProxy, checkHostForNginx, showPage } from './answers.ts'
import { type Followed, followHosts } from './index-sync.ts'
import { openSnapshots, type SnapshotForm } from './snapshot.ts'
import { deservesCertificate } from './verdict.ts'
import { readName, readVisitor } from './visitor.ts'

/** Not by `import`: that reads every export, and reading WebSocket loads a whole HTTP client (16 MB, 45 ms at start). */
const { createServer } = process.getBuiltinModule('node:http')

export type Edge = {
  /** Listens; gives the address as a URL. */
  listen(host: string, port: number): Promise<string>
  followed: Followed
  close(): Promise<void>
}

/** Longer than proxies keep a connection that is idle, so that they let go first. */
const KEEP_ALIVE_MS = 125_000
/** Cookies of visitors come along. */
const HEADER_BYTES = 64 * 1024
/** Younger than this, what is known is fresh: a poll may take its time. */
const STALE_MS = 5000
const MOST_CONNECTIONS = 10_000

/** Reads all hosts and makes the listener. Throws when the hosts cannot be read. */
export async function openEdge(deps: Deps): Promise<Edge> {
  const followed = await followHosts(deps)
  const answer = answering(deps, followed)
  const unsent = openUnsent()
  deps.metrics.beforeTold(() => {
    deps.metrics.gauge('berth_edge_hosts').value = followed.hosts().size()
    deps.metrics.gauge('berth_edge_stale_seconds').value = followed.staleMs() / 1000
  })
  const server = createServer(
    { maxHeaderSize: HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 15_000, headersTimeout: 10_000 },
    (request, response) => {
      answer(request)
        .catch((error) => {
          deps.log.error({ err: error, path: ownPath(pathOf(request)) }, 'the edge failed to answer')
          return plain(500, 'Something failed on our side.')
        })
        .then((answer) => send(deps, followed, unsent, request, response, answer))
    },
  )
  server.maxConnections = MOST_CONNECTIONS
  return {
    followed,
    listen: (host, port) => listen(server, host, port),
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      await followed.stop()
    },
  }
}

function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      const { address, family, port: bound } = server.address() as AddressInfo
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`)
    })
  })
}

function send(
  { stopping }: Deps,
  followed: Followed,
  unsent: Unsent,
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: Answer,
): void {
  const stale = followed.staleMs()
  if (stale > STALE_MS) headers['x-edge-stale'] = String(Math.round(stale / 1000))
  if (stopping.aborted) headers.connection = 'close'
  const bytes = Buffer.from(body)
  if (status !== 304) headers['content-length'] = String(bytes.length)
  response.writeHead(status, headers)
  const outgoing = request.method === 'HEAD' ? bytes : unsent.hold(request, response, addressOf(request.socket), bytes)
  if (Buffer.isBuffer(outgoing)) response.end(outgoing)
  else outgoing.pipe(response)
}

/** A question without a body but the path; `check` is asked with the visitor's own method by some proxies. */
function answering(deps: Deps, followed: Followed): (request: IncomingMessage) => Promise<Answer> {
  const mayAsk = admission(deps.config.edge.token)
  const snapshot = openSnapshots(followed)
  const admit = openAdmission()
  const counted = countVerdicts(deps)
  return async (request) => {
    request.resume()
    const path = pathOf(request)
    const query = new URLSearchParams(request.url!.slice(path.length))
    const refused = mayAsk(request, query)
    if (refused !== undefined) return refused
    const hosts = followed.hosts()
    if (path === CHECK || path.startsWith(`${CHECK}/`)) {
      const visitor = readVisitor(request.headers, request.url!.slice(CHECK.length))
      if (query.get('flavor') !== 'nginx') return counted(await checkForProxy(hosts, admit, visitor))
      if (query.get('scope') === 'host') return counted(checkHostForNginx(hosts, visitor))
      return counted(await checkForNginx(hosts, admit, visitor))
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { ...plain(405, 'Only GET is asked here.'), headers: { ...PLAIN, allow: 'GET, HEAD' } }
    }
    switch (path) {
      case '/edge/v1/ask': {
        const domain = query.get('domain')
        if (domain === null) return plain(400, 'Say which domain: ?domain=example.com')
        return deservesCertificate(hosts, readName(domain)) ? plain(200, 'yes') : plain(404, 'no')
      }
      case '/edge/v1/page':
        return showPage(hosts, admit, readVisitor(request.headers, '/'), readStatus(request.headers['x-edge-status']))
      case '/edge/v1/snapshot':
        return answerSnapshot(snapshot, query, request.headers['if-none-match'])
      case '/edge/v1/ready':
        return { status: 200, headers: { ...PLAIN, 'content-type': 'application/json' }, body: readiness(followed) }
      default:
        return plain(404, 'There is nothing here. What there is: docs/edge.md')
    }
  }
}

/** By what the proxy is told, which is one of few words. */
function countVerdicts({ metrics }: Deps): (answer: Answer) => Answer {
  return (answer) => {
    const { status, headers } = answer
    const leadsAway = headers['x-edge-location'] !== undefined || headers.location !== undefined
    const verdict = headers['x-edge-error'] ?? (leadsAway ? 'MOVED' : status === 200 ? 'ALLOWED' : 'REFUSED')
    metrics.counter('berth_edge_checks_total', verdict).value++
    return answer
  }
}

const CHECK = '/edge/v1/check'
const PLAIN = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }

function plain(status: number, text: string): Answer {
  return { status, headers: { ...PLAIN }, body: `${text}\n` }
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** What follows the check is a visitor's, and may hold what opens something. */
function ownPath(path: string): string {
  return path.startsWith(CHECK) ? CHECK : path
}

/** Where a token is set, whoever has it. Where none is set, whoever is on this machine. */
function admission(
  token: string | undefined,
): (request: IncomingMessage, query: URLSearchParams) => Answer | undefined {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = token === undefined ? undefined : digest(token)
  const isToken = (token: string | null | undefined) => token != null && timingSafeEqual(digest(token), expected!)
  return (request, query) => {
    if (expected === undefined) {
      if (isLoopback(request.socket.remoteAddress ?? '')) return undefined
      return plain(403, 'Set BERTH_EDGE_TOKEN to let proxies on other machines ask.')
    }
    if (isToken(query.get('token'))) return undefined
    const bearer = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    return isToken(bearer) ? undefined : plain(401, 'Send BERTH_EDGE_TOKEN as a bearer token or as ?token=')
  }
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\./.test(address) || address === '::1'
}

/** The status that nginx was told; only those for which there is a page. */
function readStatus(header: string | string[] | undefined): number | undefined {
  return header === '401' || header === '403' || header === '404' || header === '503' ? Number(header) : undefined
}

async function answerSnapshot(
  snapshot: ReturnType<typeof openSnapshots>,
  query: URLSearchParams,
  ifNoneMatch: string | undefined,
): Promise<Answer> {
  const form = readForm(query)
  if (form === undefined) return plain(400, 'The forms are: (none), format=haproxy&map=state, map=hosts, map=redirects')
  const { body, etag, contentType } = await snapshot(form)
  const headers = { etag, 'cache-control': 'no-cache', 'content-type': contentType }
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) ? { status: 304, headers, body: '' } : { status: 200, headers, body }
}

function readForm(query: URLSearchParams): SnapshotForm | undefined {
  const [format, map] = [query.get('format') ?? 'json', query.get('map') ?? 'state']
  if (format === 'json') return 'json'
  return format === 'haproxy' && (map === 'state' || map === 'hosts' || map === 'redirects') ? map : undefined
}

function readiness(followed: Followed): string {
  const stale = followed.staleMs()
  return `${JSON.stringify({ ready: true, hosts: followed.hosts().size(), staleSeconds: Math.round(stale / 1000) })}\n`
}
