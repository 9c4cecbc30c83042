/**
 * Requests of sites servers: snapshots, changes since a version, and single deployments. Served from the index in chunks, yielding to proxies.
 * docs/deploying-sites.md: Data of the sites server.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Deps } from '../../context.ts'
import { openHearing } from '../../delivery/notices/hearing.ts'
import { CRON_LEASE_PATH, CRON_RESULT_PATH } from '../../delivery/protocol/cron-channel.ts'
import { LOGS_PATH } from '../../delivery/protocol/log-report.ts'
import { PURGE_PATH } from '../../delivery/protocol/purge-channel.ts'
import {
  deploymentLine,
  type HeadLine,
  type HostFacts,
  projectLine,
  SNAPSHOT_PROTOCOL,
} from '../../delivery/protocol/snapshot.ts'
import { readVersion, writeVersion } from '../../delivery/protocol/snapshot-version.ts'
import { CACHES_PATH, USAGE_PATH } from '../../delivery/protocol/usage-report.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import { type HeldRequests, openHeldRequests } from '../../platform/fairness/held-requests.ts'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import type { DeploymentRecord } from '../../platform/verdict/facts.ts'
import { bearerOf, json, pathOf, plain, tokenCheck } from '../../platform/verdict/plain-answer.ts'
import { REDEEM_PATH } from '../../platform/verdict/site-sign-in.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import type { Place } from './change-ring.ts'
import type { SyncedHosts } from './index-sync.ts'
import { isOfFiles, openSiteFiles } from './site-files.ts'
import { answerEnvironment, isOfFunctions } from './site-functions.ts'
import { allLines, linesOf, textOf } from './site-lines.ts'
import { answerCode } from './site-sign-in.ts'
import {
  answerCacheReport,
  answerCronLease,
  answerCronResult,
  answerLogReport,
  answerPurge,
  answerReport,
} from './site-usage.ts'
import { readName } from './visitor.ts'

const MAX_WAIT_S = 25
/** Changed keys per response. Each name has a line, and each of their targets one. */
const MAX_KEYS = 1000
/** Concurrent full snapshots. */
const WHOLES = 2
/** A connection that reads nothing of a snapshot for this long is closed. */
const STALL_MS = 20_000
const HOSTS = '/sites/v1/hosts/'
const DEPLOYMENTS = '/sites/v1/deployments/'
const LINES = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' }

export type SitesChannel = {
  /** Handles a request. Undefined when the response was already sent. */
  answer(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<EdgeResponse | undefined>
  /** Answers waiting requests, and lets no others wait. */
  close(): void
}

type State = {
  followed: SyncedHosts
  /** The platform suffix, which sites servers need to keep the cookies of sites apart. */
  suffix: string | undefined
  store: string
  instance: string
  wholes: ReturnType<typeof createSemaphore>
  /** Requests that wait for the next change. */
  held: HeldRequests
}

/** Whether a path belongs to sites servers. */
export function isOfSites(path: string): boolean {
  return path.startsWith('/sites/')
}

/** Opens the channel on the synced index. Throws when the database cannot be read. */
export async function openSitesChannel(deps: Deps, followed: SyncedHosts): Promise<SitesChannel> {
  const { sitesToken } = deps.config.edge
  const isToken = sitesToken === undefined ? undefined : tokenCheck(sitesToken)
  const held = openHeldRequests(deps.shutdownSignal)
  followed.onChange(held.wake)
  const files = openSiteFiles(deps)
  const noteHeard = openHearing(deps)
  const state: State = {
    followed,
    suffix: deps.config.domains.platformSuffix,
    store: await nameOfStore(deps),
    instance: randomText(8),
    wholes: createSemaphore({ slots: WHOLES }),
    held,
  }
  const answerOf = async (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => {
    if (isToken === undefined) return plain(403, 'Set BERTH_SITES_TOKEN on the control plane to allow sites servers.')
    if (!isToken(bearerOf(request))) return plain(401, 'Send BERTH_SITES_TOKEN as a bearer token.')
    const path = pathOf(request)
    if (path === REDEEM_PATH) return answerCode(deps, request)
    if (path === USAGE_PATH) return answerReport(deps, request)
    if (path === CACHES_PATH) return answerCacheReport(deps, request)
    if (path === LOGS_PATH) return answerLogReport(deps, request)
    if (path === PURGE_PATH) return answerPurge(deps, request)
    if (path === CRON_RESULT_PATH) return answerCronResult(deps, request)
    if (path === CRON_LEASE_PATH && request.method === 'POST') return answerCronLease(deps, request)
    const allowed = isOfFiles(path) ? ['GET', 'HEAD'] : ['GET']
    if (!allowed.includes(request.method!))
      return plain(405, 'Only GET is supported here.', { allow: allowed.join(', ') })
    if (isOfFunctions(path)) return answerEnvironment(deps, path)
    if (isOfFiles(path)) return files.answer(request, response, path, query)
    if (path === '/sites/v1/snapshot') {
      noteHeard()
      return answerSnapshot(state, response, query)
    }
    if (path.startsWith(HOSTS)) return answerHost(state, readName(path.slice(HOSTS.length)))
    if (path.startsWith(DEPLOYMENTS)) return answerDeployment(state, path.slice(DEPLOYMENTS.length))
    return plain(404, 'Not found. The paths are in docs/deploying-sites.md')
  }
  return {
    async answer(request, response, query) {
      const answer = await answerOf(request, response, query)
      // A waiting client would call again on its connection, which would then never close.
      if (held.isOver() && answer !== undefined) answer.headers.connection = 'close'
      return answer
    },
    close: held.end,
  }
}

/** Identity of this database and its suffix: readers of another one need a snapshot. */
async function nameOfStore({ db, config }: Deps): Promise<string> {
  const fact = db.read.selectFrom('fact').select('value').where('name', '=', 'bootstrapped')
  const identity = [(await fact.executeTakeFirst())?.value ?? '', config.domains.platformSuffix ?? ''].join(' ').trim()
  return fingerprint(identity).slice(0, 8)
}

function headOf({ suffix }: State, of: Pick<HeadLine, 'all' | 'reset'>): HeadLine {
  return { kind: 'head', protocol: SNAPSHOT_PROTOCOL, ...of, ...(suffix !== undefined && { suffix }) }
}

async function answerSnapshot(
  state: State,
  response: ServerResponse,
  query: URLSearchParams,
): Promise<EdgeResponse | undefined> {
  const { changes } = state.followed
  const wait = Number(/^\d{1,2}$/.exec(query.get('wait') ?? '0')?.[0] ?? Number.NaN)
  if (!(wait <= MAX_WAIT_S)) return plain(400, `?wait= is seconds: 0 to ${MAX_WAIT_S}.`)
  const place = await placeOf(state, query.get('since'))
  if (place === 'all' || place === 'reset') return sendAll(state, response, place === 'reset')
  if (changes.next(place, 1)?.keys.length === 0) await state.held.hold(response, wait * 1000)
  const page = changes.next(place, MAX_KEYS)
  if (page === undefined) return sendAll(state, response, false)
  if (page.keys.length === 0) return { status: 304, headers: { ...LINES }, body: '' }
  const hosts = state.followed.hosts()
  const lines = [...linesOf(hosts, page.keys)]
  const more = page.place.sequence < changes.place().sequence
  const end = { kind: 'end', version: versionOf(state, page.place), lines: lines.length, more } as const
  const all = [headOf(state, { all: false }), ...lines, end]
  return { status: 200, headers: { ...LINES }, body: all.map(textOf).join('') }
}

/** Position of a reader with this version. `all`: unknown position. `reset`: newer than the database, which was restored. */
async function placeOf({ followed, store, instance }: State, since: string | null): Promise<Place | 'all' | 'reset'> {
  const version = readVersion(since ?? '')
  if (version === undefined || version.store !== store) return 'all'
  const { sequence, stamp } = version
  if (version.instance === instance) return { sequence, stamp }
  if (stamp > followed.changes.place().stamp) {
    // Another instance may have read a change before this one.
    try {
      await followed.catchUp()
    } catch {
      return followed.changes.place()
    }
    if (stamp > followed.changes.place().stamp) return 'reset'
  }
  return followed.changes.placeOf(stamp) ?? 'all'
}

/** A snapshot of its start; later changes follow it, as `more` indicates. */
async function sendAll(state: State, response: ServerResponse, reset: boolean): Promise<EdgeResponse | undefined> {
  if (!(await state.wholes.acquire('', STALL_MS)))
    return plain(503, 'Too many concurrent snapshots. Try again.', { 'retry-after': '1' })
  try {
    response.writeHead(200, LINES)
    response.setTimeout(STALL_MS, () => response.destroy())
    await pipeline(Readable.from(whole(state, reset), { highWaterMark: 2 }), response)
  } catch (error) {
    // The client disconnected.
    if (!response.destroyed) throw error
  } finally {
    state.wholes.release('')
  }
  return undefined
}

async function* whole(state: State, reset: boolean): AsyncGenerator<Buffer> {
  const version = versionOf(state, state.followed.changes.place())
  const count = { lines: 0 }
  yield Buffer.from(textOf(headOf(state, { all: true, ...(reset && { reset }) })))
  yield* allLines(state.followed.hosts(), count)
  yield Buffer.from(textOf({ kind: 'end', version, lines: count.lines, more: true }))
}

function versionOf({ store, instance }: State, place: Place): string {
  return writeVersion({ store, instance, ...place })
}

/** The facts of a deployment URL. Names assigned as domains are excluded, because the snapshot has them. */
function answerHost(state: State, host: string): EdgeResponse {
  if (host === '') return plain(400, 'Specify a host name: /sites/v1/hosts/web-1.example.com')
  const { names, urls } = state.followed.hosts().facts
  const deployment = names.get(host)?.domain === undefined ? urls.get(host) : undefined
  return factsOf(state, deployment, 'No deployment has this url.')
}

/** The facts of a deployment, with its creation time. */
function answerDeployment(state: State, id: string): EdgeResponse {
  const deployment = state.followed.hosts().facts.deployments.get(id)
  return factsOf(state, deployment, 'Deployment not found.', deployment?.createdAt)
}

function factsOf(
  state: State,
  deployment: DeploymentRecord | undefined,
  missing: string,
  createdAt?: number,
): EdgeResponse {
  const project = deployment && state.followed.hosts().facts.projects.get(deployment.projectId)
  if (project === undefined) return plain(404, missing, { 'cache-control': 'max-age=1' })
  const facts: HostFacts = {
    protocol: SNAPSHOT_PROTOCOL,
    version: versionOf(state, state.followed.changes.place()),
    deployment: { ...deploymentLine(deployment!), ...(createdAt !== undefined && { createdAt }) },
    project: projectLine(project),
  }
  return json(200, facts)
}
