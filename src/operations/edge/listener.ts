/**
 * The edge listener for proxies: a separate port and token, served from memory. Uses node:http directly, because it adds a request to every visit
 * (docs/edge.md: A listener of its own).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Deps } from '../../context.ts'
import { isOfRunners, openRunnerChannel } from '../../delivery/runners/channel.ts'
import { isTimeoutOfFile } from '../../delivery/runners/files.ts'
import { randomText } from '../../platform/base/ids.ts'
import { createResponseBuffers, type ResponseBuffers } from '../../platform/fairness/response-backpressure.ts'
import { respondToParseError } from '../../platform/http/error-handler.ts'
import { peerAddress } from '../../platform/http/failure-limits.ts'
import { boundConnections, listenAt } from '../../platform/server/connections.ts'
import { answerOneAtATime } from '../../platform/server/one-at-a-time.ts'
import { createAdmission } from '../../platform/verdict/admission.ts'
import { PLAIN, pathOf, plain } from '../../platform/verdict/plain-answer.ts'
import { isCertificateAllowed } from '../../platform/verdict/verdict.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { isMemberAt } from '../../projects/site-sign-in/site-sessions.ts'
import { READERS } from '../../readers.ts'
import { admission, CHECK, isOfVisitor, PAGE, sitesCheck } from './callers.ts'
import { type SyncedHosts, startHostSync } from './index-sync.ts'
import {
  checkAuthRequest,
  checkAuthRequestForHost,
  checkForSites,
  checkForwardAuth,
  type Judge,
  judgeForProxy,
  judgeForSites,
  nginxErrorPage,
} from './responses.ts'
import { isOfSites, openSitesChannel } from './sites-channel.ts'
import { createSnapshots, type SnapshotForm } from './snapshot.ts'
import { readName, readSeenBySites, readVisitor } from './visitor.ts'

/** `import` would read every export, and reading WebSocket loads an HTTP client (16 MB, 45 ms at start). */
const { createServer } = process.getBuiltinModule('node:http')

export type Edge = {
  /** Listens and returns its URL. */
  listen(host: string, port: number): Promise<string>
  followed: SyncedHosts
  close(): Promise<void>
}

/** Longer than the idle timeout of proxies, so that they close first. */
const KEEP_ALIVE_MS = 125_000
const SERVER = {
  maxHeaderSize: READERS['question of a proxy'].bytes,
  keepAliveTimeout: KEEP_ALIVE_MS,
  requestTimeout: 15_000,
  headersTimeout: 10_000,
  requireHostHeader: false,
}
/** Younger data counts as fresh, because a poll may take some time. */
const STALE_MS = 5000

/** Loads all hosts and creates the listener. Throws when the hosts cannot be read. */
export async function openEdge(deps: Deps): Promise<Edge> {
  const followed = await startHostSync(deps)
  const sites = await openSitesChannel(deps, followed)
  const runners = openRunnerChannel(deps)
  const ofProxies = answering(deps, followed)
  const answerOf = (request: IncomingMessage, response: ServerResponse, path: string) => {
    const query = new URLSearchParams(request.url!.slice(path.length))
    if (isOfRunners(path)) return runners.answer(request, response)
    return isOfSites(path) ? sites.answer(request, response, query) : ofProxies(request, path, query)
  }
  const unsent = createResponseBuffers()
  deps.metrics.onCollect(() => {
    deps.metrics.gauge('berth_edge_hosts').value = followed.hosts().size()
    deps.metrics.gauge('berth_edge_stale_seconds').value = followed.staleMs() / 1000
  })
  const server = createServer(SERVER, (request, response) => {
    request.resume()
    const path = pathOf(request)
    answerOf(request, response, path)
      .catch((error) => {
        deps.log.error({ err: error, path: ownPath(path) }, 'the edge failed to respond')
        if (!response.headersSent) return plain(500, 'Something failed on our side.')
        return void response.destroy()
      })
      .then((answer) => answer && send(deps, followed, unsent, request, response, answer))
  })
  answerOneAtATime(server)
  const endsOnceAnswered = boundConnections(server, deps.config.connections)
  server.on('clientError', (error, socket) => {
    if (isTimeoutOfFile(error, socket)) return
    const peer = socket as Parameters<typeof respondToParseError>[1]
    if (!endsOnceAnswered(peer)) respondToParseError(error, peer, randomText(16))
  })
  return {
    followed,
    listen: (host, port) => listenAt(server, host, port, 'http'),
    async close() {
      sites.close()
      runners.close()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      await followed.stop()
    },
  }
}

function send(
  { shutdownSignal }: Deps,
  followed: SyncedHosts,
  unsent: ResponseBuffers,
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: EdgeResponse,
): void {
  const stale = followed.staleMs()
  if (stale > STALE_MS) headers['x-edge-stale'] = String(Math.round(stale / 1000))
  if (shutdownSignal.aborted) headers.connection = 'close'
  const bytes = Buffer.from(body)
  if (status !== 304) headers['content-length'] = String(bytes.length)
  response.writeHead(status, headers)
  const outgoing =
    request.method === 'HEAD' ? bytes : unsent.track(request, response, peerAddress(request.socket), bytes)
  if (Buffer.isBuffer(outgoing)) response.end(outgoing)
  else outgoing.pipe(response)
}

/** Requests have no body. Some proxies send `check` with the visitor's method. */
function answering(deps: Deps, followed: SyncedHosts) {
  const { token, sitesToken, sitesAddress } = deps.config.edge
  const canAsk = admission(token)
  const isSitesServer = sitesCheck(sitesToken)
  const snapshot = createSnapshots(followed, sitesAddress)
  const admit = createAdmission(deps.adapters.passwords, (visit) => isMemberAt(deps.db.read, visit, deps.clock.now()))
  const counted = countVerdicts(deps)
  return async (request: IncomingMessage, path: string, query: URLSearchParams): Promise<EdgeResponse> => {
    const hosts = followed.hosts()
    const isCheck = path !== PAGE && isOfVisitor(path)
    const isOfSites = isCheck && isSitesServer(request, query)
    const refused = isOfSites ? undefined : canAsk(request, query)
    if (refused !== undefined) return refused
    const judged: Judge = isOfSites ? judgeForSites(hosts) : judgeForProxy(hosts, sitesAddress)
    if (isCheck) {
      const visitor = readVisitor(request.headers, request.url!.slice(CHECK.length))
      if (query.get('flavor') !== 'nginx') {
        if (!isOfSites) return counted(await checkForwardAuth(judged, admit, visitor))
        const seen = { ...visitor, ...readSeenBySites(request.headers) }
        return counted(await checkForSites(judged, admit, seen, `${deps.origin()}/sites/sign-in`))
      }
      if (query.get('scope') === 'host') return counted(checkAuthRequestForHost(judged, visitor))
      return counted(await checkAuthRequest(judged, admit, visitor))
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { ...plain(405, 'Only GET is supported here.'), headers: { ...PLAIN, allow: 'GET, HEAD' } }
    }
    switch (path) {
      case '/edge/v1/ask': {
        const domain = query.get('domain')
        if (domain === null) return plain(400, 'Specify a domain: ?domain=example.com')
        return isCertificateAllowed(hosts, readName(domain)) ? plain(200, 'yes') : plain(404, 'no')
      }
      case PAGE:
        return nginxErrorPage(
          judged,
          admit,
          readVisitor(request.headers, '/'),
          readStatus(request.headers['x-edge-status']),
        )
      case '/edge/v1/snapshot':
        return answerSnapshot(snapshot, query, request.headers['if-none-match'])
      case '/edge/v1/ready':
        return { status: 200, headers: { ...PLAIN, 'content-type': 'application/json' }, body: readiness(followed) }
      default:
        return plain(404, 'Not found. The paths are in docs/edge.md')
    }
  }
}

/** By verdict, which has few values. */
function countVerdicts({ metrics }: Deps): (answer: EdgeResponse) => EdgeResponse {
  return (answer) => {
    const { status, headers } = answer
    const leadsAway = headers['x-edge-location'] !== undefined || headers.location !== undefined
    const verdict = headers['x-edge-error'] ?? (leadsAway ? 'MOVED' : status === 200 ? 'ALLOWED' : 'REFUSED')
    metrics.counter('berth_edge_checks_total', verdict).value++
    return answer
  }
}

/** The rest of a check path is the visitor's and may contain secrets. */
function ownPath(path: string): string {
  return path.startsWith(CHECK) ? CHECK : path
}

/** Accepts only statuses that have a page. */
function readStatus(header: string | string[] | undefined): number | undefined {
  return header === '401' || header === '403' || header === '404' || header === '503' ? Number(header) : undefined
}

async function answerSnapshot(
  snapshot: ReturnType<typeof createSnapshots>,
  query: URLSearchParams,
  ifNoneMatch: string | undefined,
): Promise<EdgeResponse> {
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

function readiness(followed: SyncedHosts): string {
  const stale = followed.staleMs()
  return `${JSON.stringify({ ready: true, hosts: followed.hosts().size(), staleSeconds: Math.round(stale / 1000) })}\n`
}
