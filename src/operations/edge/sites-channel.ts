/**
 * What sites servers ask of the control plane: all hosts or what changed since a version, and own urls of deployments. It is answered from the index
 * of the edge, in pieces between which proxies are answered. docs/deploying-sites.md: What the sites server knows.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Deps } from '../../context.ts'
import { deploymentLine, type HostFacts, projectLine, SNAPSHOT_PROTOCOL } from '../../delivery/protocol/snapshot.ts'
import { readVersion, writeVersion } from '../../delivery/protocol/snapshot-version.ts'
import { USAGE_PATH } from '../../delivery/protocol/usage-report.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import type { DeploymentRecord } from '../../platform/verdict/facts.ts'
import { REDEEM_PATH } from '../../platform/verdict/site-sign-in.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import type { Place } from './change-ring.ts'
import type { SyncedHosts } from './index-sync.ts'
import { bearerOf, PLAIN, pathOf, plain, tokenCheck } from './plain-answer.ts'
import { isOfFiles, openSiteFiles } from './site-files.ts'
import { allLines, linesOf, textOf } from './site-lines.ts'
import { answerCode } from './site-sign-in.ts'
import { answerReport } from './site-usage.ts'
import { readName } from './visitor.ts'

const MAX_WAIT_S = 25
/** More requests do not wait for a change. */
const MAX_WAITING = 500
/** Changed things in one answer; of each name come three lines. */
const MAX_KEYS = 1000
/** Whole snapshots that are written at once. */
const WHOLES = 2
/** A connection that takes nothing of a whole snapshot for so long is ended. */
const STALL_MS = 20_000
const HOSTS = '/sites/v1/hosts/'
const DEPLOYMENTS = '/sites/v1/deployments/'
const LINES = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' }

export type SitesChannel = {
  /** The answer to a request; undefined where it was already sent. */
  answer(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): Promise<EdgeResponse | undefined>
  /** Answers those that wait. Nobody waits from now on. */
  close(): void
}

type State = {
  followed: SyncedHosts
  store: string
  instance: string
  wholes: ReturnType<typeof createSemaphore>
  /** Waits for the next change, for so many ms at most, or until the response is closed. */
  nextChange(response: ServerResponse, ms: number): Promise<void>
}

/** Whether a path is asked by sites servers. */
export function isOfSites(path: string): boolean {
  return path.startsWith('/sites/')
}

/** Opens the channel over an index that is followed. Throws when the store cannot be read. */
export async function openSitesChannel(deps: Deps, followed: SyncedHosts): Promise<SitesChannel> {
  const { sitesToken } = deps.config.edge
  const isToken = sitesToken === undefined ? undefined : tokenCheck(sitesToken)
  const waiting = openWaiting(followed, deps.shutdownSignal)
  const files = openSiteFiles(deps)
  const state: State = {
    followed,
    store: await nameOfStore(deps),
    instance: randomText(8),
    wholes: createSemaphore({ slots: WHOLES }),
    nextChange: waiting.next,
  }
  const answerOf = async (request: IncomingMessage, response: ServerResponse, query: URLSearchParams) => {
    if (isToken === undefined) return plain(403, 'Set BERTH_SITES_TOKEN on the control plane to let sites servers ask.')
    if (!isToken(bearerOf(request))) return plain(401, 'Send BERTH_SITES_TOKEN as a bearer token.')
    const path = pathOf(request)
    if (path === REDEEM_PATH) return answerCode(deps, request)
    if (path === USAGE_PATH) return answerReport(deps, request)
    const allowed = isOfFiles(path) ? ['GET', 'HEAD'] : ['GET']
    if (!allowed.includes(request.method!))
      return { ...plain(405, 'Only GET is asked here.'), headers: { ...PLAIN, allow: allowed.join(', ') } }
    if (isOfFiles(path)) return files.answer(request, response, path, query)
    if (path === '/sites/v1/snapshot') return answerSnapshot(state, response, query)
    if (path.startsWith(HOSTS)) return answerHost(state, readName(path.slice(HOSTS.length)))
    if (path.startsWith(DEPLOYMENTS)) return answerDeployment(state, path.slice(DEPLOYMENTS.length))
    return plain(404, 'There is nothing here. What there is: docs/deploying-sites.md')
  }
  return {
    async answer(request, response, query) {
      const answer = await answerOf(request, response, query)
      // Who waited would ask again on its connection, which then never ends.
      if (waiting.isOver() && answer !== undefined) answer.headers.connection = 'close'
      return answer
    },
    close: waiting.end,
  }
}

/** Which database this is: whoever followed another one takes all. */
async function nameOfStore({ db }: Deps): Promise<string> {
  const fact = db.read.selectFrom('fact').select('value').where('name', '=', 'bootstrapped')
  return fingerprint((await fact.executeTakeFirst())?.value ?? '').slice(0, 8)
}

function openWaiting(followed: SyncedHosts, stopping: AbortSignal) {
  const waiting = new Set<() => void>()
  let isOver = stopping.aborted
  const wake = () => {
    for (const go of waiting) go()
  }
  const end = () => {
    isOver = true
    wake()
  }
  followed.onChange(wake)
  stopping.addEventListener('abort', end, { once: true })
  return {
    end,
    isOver: () => isOver,
    next: (response: ServerResponse, ms: number) =>
      new Promise<void>((resolve) => {
        if (isOver || ms === 0 || waiting.size >= MAX_WAITING) return resolve()
        const go = () => {
          clearTimeout(timer)
          waiting.delete(go)
          response.off('close', go)
          resolve()
        }
        const timer = setTimeout(go, ms)
        response.on('close', go)
        waiting.add(go)
      }),
  }
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
  if (changes.next(place, 1)?.keys.length === 0) await state.nextChange(response, wait * 1000)
  const page = changes.next(place, MAX_KEYS)
  if (page === undefined) return sendAll(state, response, false)
  if (page.keys.length === 0) return { status: 304, headers: { ...LINES }, body: '' }
  const hosts = state.followed.hosts()
  const lines = page.keys.flatMap((key) => [...linesOf(hosts, key)])
  const more = page.place.sequence < changes.place().sequence
  const end = { kind: 'end', version: versionOf(state, page.place), lines: lines.length, more } as const
  const all = [{ kind: 'head', protocol: SNAPSHOT_PROTOCOL, all: false } as const, ...lines, end]
  return { status: 200, headers: { ...LINES }, body: all.map(textOf).join('') }
}

/** Where a reader is that has this version. `all`: nowhere that is known. `reset`: it has more than the database, which was restored. */
async function placeOf({ followed, store, instance }: State, since: string | null): Promise<Place | 'all' | 'reset'> {
  const version = readVersion(since ?? '')
  if (version === undefined || version.store !== store) return 'all'
  const { sequence, stamp } = version
  if (version.instance === instance) return { sequence, stamp }
  if (stamp > followed.changes.place().stamp) {
    // Another instance may have read a change before this one did.
    try {
      await followed.catchUp()
    } catch {
      return followed.changes.place()
    }
    if (stamp > followed.changes.place().stamp) return 'reset'
  }
  return followed.changes.placeOf(stamp) ?? 'all'
}

/** It is of the moment in which it begins: what changes meanwhile comes again behind it, which `more` says. */
async function sendAll(state: State, response: ServerResponse, reset: boolean): Promise<EdgeResponse | undefined> {
  if (!(await state.wholes.acquire('', STALL_MS)))
    return { ...plain(503, 'Other sites servers take all. Come again.'), headers: { ...PLAIN, 'retry-after': '1' } }
  try {
    response.writeHead(200, LINES)
    response.setTimeout(STALL_MS, () => response.destroy())
    await pipeline(Readable.from(whole(state, reset), { highWaterMark: 2 }), response)
  } catch (error) {
    // Whoever asked has gone.
    if (!response.destroyed) throw error
  } finally {
    state.wholes.release('')
  }
  return undefined
}

async function* whole(state: State, reset: boolean): AsyncGenerator<Buffer> {
  const version = versionOf(state, state.followed.changes.place())
  const count = { lines: 0 }
  yield Buffer.from(textOf({ kind: 'head', protocol: SNAPSHOT_PROTOCOL, all: true, ...(reset && { reset }) }))
  yield* allLines(state.followed.hosts(), count)
  yield Buffer.from(textOf({ kind: 'end', version, lines: count.lines, more: true }))
}

function versionOf({ store, instance }: State, place: Place): string {
  return writeVersion({ store, instance, ...place })
}

/** The facts of an own url. A name under which somebody serves by a domain is none: it is in the snapshot. */
function answerHost(state: State, host: string): EdgeResponse {
  if (host === '') return plain(400, 'Ask for a host name: /sites/v1/hosts/web-1.example.com')
  const { names, urls } = state.followed.hosts().facts
  const deployment = names.get(host)?.domain === undefined ? urls.get(host) : undefined
  return factsOf(state, deployment, 'No deployment has this url.')
}

/** The facts of a deployment, with the moment that its age is counted from. */
function answerDeployment(state: State, id: string): EdgeResponse {
  const deployment = state.followed.hosts().facts.deployments.get(id)
  return factsOf(state, deployment, 'There is no such deployment.', deployment?.createdAt)
}

function factsOf(
  state: State,
  deployment: DeploymentRecord | undefined,
  missing: string,
  createdAt?: number,
): EdgeResponse {
  const project = deployment && state.followed.hosts().facts.projects.get(deployment.projectId)
  if (project === undefined) return { ...plain(404, missing), headers: { ...PLAIN, 'cache-control': 'max-age=1' } }
  const facts: HostFacts = {
    protocol: SNAPSHOT_PROTOCOL,
    version: versionOf(state, state.followed.changes.place()),
    deployment: { ...deploymentLine(deployment!), ...(createdAt !== undefined && { createdAt }) },
    project: projectLine(project),
  }
  return { status: 200, headers: { ...PLAIN, 'content-type': 'application/json' }, body: JSON.stringify(facts) }
}
