/** A visitor's request from its host to its answer: what the host leads to, whether the visitor may see it, and what the site says. docs/deploying-sites.md: The sites server. */
import type { IncomingMessage } from 'node:http'
import type { Logger } from 'pino'
import type { Config } from '../../config.ts'
import { keepsOut } from '../../platform/verdict/admission.ts'
import type { OutputFacts } from '../../platform/verdict/facts.ts'
import { judgeEntry } from '../../platform/verdict/verdict.ts'
import { type Answer, answerOf, MOMENT_SECONDS, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import type { RoutingPool } from '../routing-pool/pool.ts'
import { FileMissing } from '../snapshot/file-source.ts'
import type { KnownHosts } from '../snapshot/known-hosts.ts'
import type { CountedResponse } from '../usage/counted-response.ts'
import type { Usage } from '../usage/reports.ts'
import type { Admission } from './admission.ts'
import { keepBypass } from './bypass-cookie.ts'
import { carryOut, type Exchange, type Shown } from './carry-out.ts'
import type { Forwarding } from './forward.ts'
import type { OpenSites } from './open-sites.ts'
import { drain, ERROR_HEADER, sendAnswer, sentence } from './send.ts'
import { keepPrivate } from './shared-caches.ts'
import { answerAtDoor } from './sign-in.ts'
import { readVisit, type Visit } from './visit.ts'

export type Parts = {
  known: Pick<KnownHosts, 'find'>
  admission: Pick<Admission, 'refuse' | 'redeem'>
  sites: OpenSites
  cache: ContentCache
  forwarding: Forwarding
  pool: Pick<RoutingPool, 'ask'>
  usage: Pick<Usage, 'count'>
  connections: Config['connections']
  log: Logger
}

/** Answers a request. It never throws: a fault of our own is a page, or the end of the connection where something was sent. */
export async function answerVisitor(parts: Parts, raw: IncomingMessage, response: CountedResponse): Promise<void> {
  const visit = readVisit(raw, parts.connections)
  if ('sentence' in visit) {
    response.setHeader('connection', 'close')
    return sendAnswer(raw, response, sentence(400, visit.sentence, 'BAD_REQUEST'))
  }
  try {
    await answer(parts, visit, { raw, response })
  } catch (error) {
    fail(parts, error, visit, { raw, response })
  }
}

async function answer(parts: Parts, visit: Visit, exchange: Exchange & { response: CountedResponse }): Promise<void> {
  const { visitor } = visit
  if (asksForWebSocket(exchange.raw))
    return tell(exchange, sentence(501, 'This server has no WebSocket connections yet.', 'WEBSOCKETS_NOT_SUPPORTED'))
  const entry = await parts.known.find(visitor.host, visitor.ip)
  if (entry === 'unavailable') return tell(exchange, comeAgain(visit))
  // Whatever it is answered from here on.
  const { serving } = entry
  if ('deploymentId' in serving && serving.deploymentId !== null)
    parts.usage.count(exchange.response, serving.deploymentId)
  const verdict = judgeEntry(entry, visitor)
  if (!('live' in verdict))
    return tell(exchange, named(answerOf(verdict, visitor), 'error' in verdict ? verdict.error : undefined))
  const { output } = verdict.live
  if (output === null) return tell(exchange, notFound(visit))
  const isProtected = keepsOut(verdict.guard)
  if (isProtected) keepPrivate(exchange.response)
  if (isProtected) {
    const answer = await answerAtDoor(parts.admission, verdict.guard!, visit, exchange)
    if (answer !== undefined) return tell(exchange, answer)
    keepBypass(exchange.raw, exchange.response, visitor)
  }
  await show(parts, output, { visit, isProtected, isPreviewUrl: entry.isPreviewUrl === true }, exchange)
}

async function show(parts: Parts, output: OutputFacts, shown: Omit<Shown, 'site'>, exchange: Exchange): Promise<void> {
  const { visit } = shown
  const site = await parts.sites.get(output).catch((error) => {
    // A deployment that was deleted a moment ago.
    if (isMissing(error)) return undefined
    throw error
  })
  if (site === undefined) return tell(exchange, notFound(visit))
  const decision = await parts.pool.ask({ ...site, question: { kind: 'resolve', request: visit.request } })
  await carryOut(parts, decision, { ...shown, site }, exchange)
}

/** An upgrade to anything else is passed over: the answer comes as if it was not there (RFC 9110 7.8). */
function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /(?:^|,)\s*websocket\s*(?:,|$)/i.test(headers.upgrade)
}

function tell({ raw, response }: Exchange, answer: Answer): void {
  drain(raw, response)
  sendAnswer(raw, response, answer)
}

function named(answer: Answer, code: string | undefined): Answer {
  return code === undefined ? answer : { ...answer, headers: { ...answer.headers, [ERROR_HEADER]: code } }
}

function notFound({ visitor }: Visit): Answer {
  return named(pageAnswer('DEPLOYMENT_NOT_FOUND', 404, visitor), 'DEPLOYMENT_NOT_FOUND')
}

function comeAgain({ visitor }: Visit): Answer {
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

function isMissing(error: unknown): boolean {
  return error instanceof ContentUnavailable && error.cause instanceof FileMissing
}

/** TABLE why a file cannot be had -> whether it may be there in a moment. What may not is a fault of the deployment or of this server's disk. */
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
    log.warn({ err: error, method, host }, 'an answer to a visitor was cut off')
    return void response.destroy()
  }
  const isOfContent = error instanceof ContentUnavailable
  if (isOfContent && PASSES[error.why] && !isMissing(error)) {
    log.debug({ err: error, method, host }, 'a file of a site cannot be had now')
    tell({ raw, response }, comeAgain(visit))
    return
  }
  log.error({ err: error, method, host }, 'a visitor could not be answered')
  const page = pageAnswer('FAILED', isOfContent ? 502 : 500, visit.visitor)
  tell({ raw, response }, named(page, isOfContent ? 'CONTENT_UNAVAILABLE' : 'INTERNAL_SERVER_ERROR'))
}
