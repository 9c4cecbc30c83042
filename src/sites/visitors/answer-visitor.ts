/** Handles a visitor's request: resolves the host, checks access and serves the site. docs/deploying-sites.md: Sites server. */
import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import { networkOf } from '../../platform/base/network.ts'
import { requiresAdmission } from '../../platform/verdict/admission.ts'
import type { OutputFacts } from '../../platform/verdict/facts.ts'
import type { HostEntry, HostProtection } from '../../platform/verdict/hosts.ts'
import { letsOptionsPass } from '../../platform/verdict/site-settings.ts'
import { judgeEntry } from '../../platform/verdict/verdict.ts'
import { denialResponse, type EdgeResponse, MOMENT_SECONDS, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import type { DataCache } from '../data-cache/data-cache.ts'
import { FUNCTION_ERRORS, FunctionFailure } from '../functions/faults.ts'
import type { Functions } from '../functions/functions.ts'
import { runMiddleware } from '../middleware/run-middleware.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { Prerenders } from '../prerender/prerenders.ts'
import type { Question } from '../routing-pool/messages.ts'
import type { RoutingPool } from '../routing-pool/pool.ts'
import { stay } from '../skew/stay.ts'
import { FileMissing } from '../snapshot/file-source.ts'
import type { KnownHosts } from '../snapshot/known-hosts.ts'
import type { CountedResponse } from '../usage/counted-response.ts'
import type { Usage } from '../usage/reports.ts'
import type { Admission } from './admission.ts'
import { keepBypass } from './bypass-cookie.ts'
import { carryOut, type Exchange, ownerOf, type Shown, showFailure, unindexed } from './carry-out.ts'
import type { Forwarding } from './forward.ts'
import type { OpenSites } from './open-sites.ts'
import { drain, ERROR_HEADER, hasBody, leaveOutBody, sendAnswer, sentence } from './send.ts'
import { keepPrivate } from './shared-caches.ts'
import { answerAtDoor } from './sign-in.ts'
import { answerAtSourceMap, isSignInForMaps, isSourceMap } from './source-maps.ts'
import { asksForWebSocket, readVisit, type Visit } from './visit.ts'

/** Only the control plane sets it. */
const CRON_HEADER = 'x-vercel-cron-schedule'

export type Parts = {
  known: Pick<KnownHosts, 'find' | 'findDeployment'>
  admission: Pick<Admission, 'refuse' | 'redeem'>
  sites: OpenSites
  cache: ContentCache
  forwarding: Forwarding
  /** Undefined: they are off. */
  functions: Functions | undefined
  prerenders: Prerenders | undefined
  pictures: Pictures
  data: Pick<DataCache, 'note'> | undefined
  pool: Pick<RoutingPool, 'ask'>
  usage: Pick<Usage, 'count'>
  connections: Config['connections']
  log: Logger
}

/**
 * Answers a request. Never throws: an internal error is a page, or closes the connection if the response has begun. `asks`: protection applies to
 * visitors alone. A cron job is of the control plane, a picture for a visitor who was admitted, and a page is renewed for its own deployment.
 */
export async function answerVisitor(
  parts: Parts,
  raw: IncomingMessage,
  response: CountedResponse,
  asks: 'visitor' | 'cron' | 'inner' = 'visitor',
): Promise<void> {
  const visit = readVisit(raw, parts.connections)
  if ('sentence' in visit) {
    response.setHeader('connection', 'close')
    return sendAnswer(raw, response, sentence(400, visit.sentence, 'BAD_REQUEST'))
  }
  try {
    const own = asks === 'cron' ? withSchedule(visit, raw) : visit
    await answer(asks === 'visitor' ? parts : open(parts, asks), own, { raw, response })
  } catch (error) {
    fail(parts, error, visit, { raw, response })
  }
}

/** Admits what no visitor asks. For a picture or a page it is part of the request of a visitor, which counts. */
function open({ admission, usage, ...parts }: Parts, asks: 'cron' | 'inner'): Parts {
  const counted = asks === 'cron' ? usage : { count: () => {} }
  return { ...parts, usage: counted, admission: { ...admission, refuse: async () => undefined } }
}

/** Visitors cannot set this header. */
function withSchedule(visit: Visit, raw: IncomingMessage): Visit {
  const { request } = visit
  const { headers } = request
  const schedule = String(raw.headers[CRON_HEADER] ?? '')
  return { ...visit, request: { ...request, headers: new Map([...headers, [CRON_HEADER, schedule]]) } }
}

async function answer(parts: Parts, visit: Visit, exchange: Exchange & { response: CountedResponse }): Promise<void> {
  const { visitor } = visit
  if (asksForWebSocket(exchange.raw))
    return tell(exchange, sentence(501, 'This server has no WebSocket connections yet.', 'WEBSOCKETS_NOT_SUPPORTED'))
  const entry = await parts.known.find(visitor.host, visitor.ip)
  if (entry === 'unavailable') return tell(exchange, comeAgain(visit))
  const { serving } = entry
  if ('deploymentId' in serving && serving.deploymentId !== null)
    parts.usage.count(exchange.response, serving.deploymentId)
  const verdict = judgeEntry(entry, visitor)
  if (!('live' in verdict))
    return tell(exchange, named(denialResponse(verdict, visitor), 'error' in verdict ? verdict.error : undefined))
  const { live } = verdict
  if (live.output === null) return tell(exchange, notFound(visit))
  const isProtected = requiresAdmission(verdict.guard)
  const refused = isProtected && (await notLetIn(parts, { ...entry, guard: verdict.guard! }, visit, exchange))
  if (refused) return tell(exchange, refused)
  const staying = await stay(parts.known, { entry, live: { ...live, output: live.output } }, visit.request, visitor.ip)
  if (staying === 'unavailable') return tell(exchange, comeAgain(visit))
  if (staying === 'gone') return tell(exchange, named(pageAnswer('NOT_FOUND', 404, visitor), 'DEPLOYMENT_NOT_FOUND'))
  if (staying.isPrivate) keepPrivate(exchange.response)
  const { deploymentId, environment } = staying
  const { projectId } = live
  const purges = parts.data === undefined ? entry.purges : parts.data.note(projectId, entry)
  const served = { deploymentId, projectId, environment, purges, defaults: entry.settings?.functionDefaults }
  const shown = { visit, ...served, isProtected, isPreviewUrl: entry.isPreviewUrl === true }
  await show(parts, { output: staying.output, entry }, shown, exchange)
}

/** Returns the response if access to a protected site is denied, undefined if it is allowed. */
async function notLetIn(
  { admission }: Pick<Parts, 'admission'>,
  { guard, settings }: Pick<HostEntry, 'settings'> & { guard: HostProtection },
  visit: Visit,
  exchange: Exchange,
): Promise<EdgeResponse | undefined> {
  const { raw, response } = exchange
  const { method, path } = visit.request
  keepPrivate(response)
  if (method === 'OPTIONS' && !hasBody(raw) && letsOptionsPass(settings, path)) {
    leaveOutBody(response)
    return undefined
  }
  const answer = await answerAtDoor(admission, guard, visit, exchange)
  if (answer === undefined) keepBypass(raw, response, visit.visitor)
  return answer
}

async function show(
  parts: Parts,
  { output, entry }: { output: OutputFacts; entry: HostEntry },
  shown: Omit<Shown, 'site' | 'ask'>,
  exchange: Exchange,
): Promise<void> {
  const { visit, isProtected } = shown
  const site = await parts.sites.get(output).catch((error) => {
    // The deployment was just deleted.
    if (isMissing(error)) return undefined
    throw error
  })
  if (site === undefined) return tell(exchange, notFound(visit))
  const { request } = visit
  const listsFolders = entry.settings?.directoryListing === true
  const asking = { ...site, network: networkOf(visit.visitor.ip) }
  const ask = (question: Question) => parts.pool.ask({ ...asking, question })
  const shownSite = { ...shown, site, ask }
  const first = await ask({ kind: 'resolve', request: { ...request, listsFolders } })
  const decision = await runMiddleware(parts.functions, first, middlewareVisit(shownSite), exchange)
  if (decision === 'done') return
  if (decision instanceof FunctionFailure) return showFailed(parts, decision, shownSite, exchange)
  const guard = isProtected ? undefined : entry.sourceMapGuard
  const closed =
    guard !== undefined && (isSourceMap(decision) || isSignInForMaps(guard, visit))
      ? await answerAtSourceMap(parts.admission, guard, visit, exchange)
      : undefined
  if (closed !== undefined && closed !== 'hidden') return tell(exchange, closed)
  const carried = closed === undefined ? decision : await ask({ kind: 'error', request, status: 404 })
  const failure = await carryOut(parts, carried, shownSite, exchange)
  if (failure !== undefined) await showFailed(parts, failure, shownSite, exchange)
}

function middlewareVisit(shown: Shown): Parameters<typeof runMiddleware>[2] {
  const { visit, isPreviewUrl, isProtected, ask } = shown
  const { request, visitor } = visit
  return {
    ...{ owner: ownerOf(shown), request, ip: visitor.ip, hidesPassword: isProtected },
    resume: (state, answer) => ask({ kind: 'resume', state, answer }),
    withOwn: (decision) => (isPreviewUrl ? unindexed(decision) : decision),
  }
}

async function showFailed({ cache }: Parts, failure: FunctionFailure, shown: Shown, exchange: Exchange): Promise<void> {
  const page = await shown.ask({ kind: 'error', request: shown.visit.request, status: FUNCTION_ERRORS[failure.code] })
  await showFailure(cache, failure, page, shown, exchange)
}

function tell({ raw, response }: Exchange, answer: EdgeResponse): void {
  drain(raw, response)
  sendAnswer(raw, response, answer)
}

function named(answer: EdgeResponse, code: string | undefined): EdgeResponse {
  return code === undefined ? answer : { ...answer, headers: { ...answer.headers, [ERROR_HEADER]: code } }
}

function notFound({ visitor }: Visit): EdgeResponse {
  return named(pageAnswer('DEPLOYMENT_NOT_FOUND', 404, visitor), 'DEPLOYMENT_NOT_FOUND')
}

function comeAgain({ visitor }: Visit): EdgeResponse {
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

function isMissing(error: unknown): boolean {
  return error instanceof ContentUnavailable && error.cause instanceof FileMissing
}

/** TABLE reasons of unavailable content → whether a retry may help. Otherwise the deployment or this server's disk is broken. */
const PASSES: Readonly<Record<ContentUnavailable['why'], boolean>> = {
  fetch: true,
  stalled: true,
  busy: true,
  full: true,
  damaged: true,
  closed: true,
  mismatch: false,
  too_large: false,
}

function fail({ log }: Parts, error: unknown, visit: Visit, { raw, response }: Exchange): void {
  const { method, host } = visit.request
  if (response.headersSent) {
    log.warn({ err: error, method, host }, 'a response to a visitor was interrupted')
    return void response.destroy()
  }
  const isOfContent = error instanceof ContentUnavailable
  if (isOfContent && PASSES[error.why] && !isMissing(error)) {
    log.debug({ err: error, method, host }, 'a file of a site cannot be had now')
    tell({ raw, response }, comeAgain(visit))
    return
  }
  log.error({ err: error, method, host }, 'a request of a visitor failed')
  const page = pageAnswer('FAILED', isOfContent ? 502 : 500, visit.visitor)
  tell({ raw, response }, named(page, isOfContent ? 'CONTENT_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR'))
}
