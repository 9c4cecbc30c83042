/** Carries out a decision: sends a file, a redirect or a page. docs/deploying-sites.md: Sites server. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Header } from '../../delivery/protocol/routing-manifest.ts'
import type { CachePurges } from '../../platform/verdict/cache-purges.ts'
import { PAGE_HEADERS, type PageKind } from '../../platform/verdict/error-page.ts'
import type { FunctionDefaults } from '../../platform/verdict/site-settings.ts'
import { MOMENT_SECONDS, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { FUNCTION_ERRORS, type FunctionFailure } from '../functions/faults.ts'
import { type FunctionOwner, specOf } from '../functions/function-spec.ts'
import type { FunctionRequest, Functions } from '../functions/functions.ts'
import { browserCaching } from '../functions/invoke.ts'
import type { Pictures } from '../pictures/pictures.ts'
import type { Prerenders } from '../prerender/prerenders.ts'
import type { Decision, ErrorCode } from '../router/decision.ts'
import { RoutingError } from '../router/destination.ts'
import { responseHeaders } from '../router/response-headers.ts'
import type { Question } from '../routing-pool/messages.ts'
import { answerFile } from '../static/answer.ts'
import { folderPage } from '../static/folder-page.ts'
import type { Forwarding } from './forward.ts'
import type { OpenSite } from './open-sites.ts'
import { drain, ERROR_HEADER, type Outgoing, sendAnswer } from './send.ts'
import type { Visit } from './visit.ts'

export type Exchange = { raw: IncomingMessage; response: ServerResponse }

/**
 * `environment`: of the deployment. `isPreviewUrl`: search engines should not index it. `isProtected`: the visitor may have sent the site password.
 * `purges`: of cached pages. `defaults`: of functions. `ask`: the router of the site.
 */
export type Shown = {
  visit: Visit
  site: OpenSite
  deploymentId: string
  projectId: string
  environment: string
  isPreviewUrl: boolean
  isProtected: boolean
  purges?: CachePurges | undefined
  defaults?: FunctionDefaults | undefined
  ask(question: Question): Promise<Decision>
}

type Means = {
  cache: ContentCache
  forwarding: Forwarding
  functions: Functions | undefined
  prerenders: Prerenders | undefined
  pictures: Pictures
}

/**
 * Carries out a decision. Gives the failure of a function that answered nothing. Throws ContentUnavailable before sending anything if a file is
 * unavailable, and errors while sending.
 */
export async function carryOut(
  means: Means,
  decision: Decision,
  shown: Shown,
  exchange: Exchange,
): Promise<FunctionFailure | undefined> {
  try {
    return await carryOutAll(means, decision, shown, exchange)
  } catch (error) {
    const { raw, response } = exchange
    if (!(error instanceof RoutingError) || response.headersSent) throw error
    drain(raw, response)
    const rules = { ...decision, responseTransforms: [] }
    sendAnswer(raw, response, errorAnswer(shown.visit, { status: 508, code: error.code }, rules))
    return undefined
  }
}

async function carryOutAll(
  { cache, forwarding, functions, prerenders, pictures }: Means,
  decision: Decision,
  shown: Shown,
  { raw, response }: Exchange,
): Promise<FunctionFailure | undefined> {
  const { visit, site, isPreviewUrl, isProtected } = shown
  const rules = isPreviewUrl ? unindexed(decision) : decision
  if (decision.kind === 'proxy') {
    const order = { account: site.account, decision, rules, visit, hidesPassword: isProtected }
    await forwarding.send(order, { raw, response })
    return undefined
  }
  if (decision.kind === 'image') {
    const call = { ...shown, account: site.account, rules, purges: shown.purges }
    await pictures.answer(decision.picture, call, { raw, response })
    return undefined
  }
  const request = functionRequest(decision, rules, shown)
  if (request !== undefined && decision.kind === 'prerender' && prerenders !== undefined)
    return prerenders.answer(decision, { ...request, purges: shown.purges }, { raw, response })
  if (request !== undefined && prerenders !== undefined)
    return prerenders.answerShared({ ...request, purges: shown.purges }, { raw, response })
  if (request !== undefined && functions !== undefined) return functions.answer(request, { raw, response })
  drain(raw, response)
  await answerAlone(cache, decision, rules, shown, { raw, response })
  return undefined
}

/** The request to the function of a decision; undefined where it has none, or one that does not run. */
function functionRequest(
  decision: Decision,
  rules: Rules,
  { visit, isProtected, ...shown }: Shown,
): FunctionRequest | undefined {
  if (decision.kind !== 'function' && decision.kind !== 'prerender') return undefined
  const { bundle, invocation, status } = decision
  const spec = specOf(ownerOf(shown), bundle)
  if (spec === undefined) return undefined
  const isConcrete = decision.kind === 'prerender' && decision.prerender.concrete
  const path = isConcrete ? invocation.concretePath : invocation.path
  const { request, visitor } = visit
  return { spec, call: { request, ip: visitor.ip, invocation, path, status, rules, hidesPassword: isProtected } }
}

/** Returns whose functions are asked. */
export function ownerOf({
  site,
  deploymentId,
  projectId,
  environment,
  defaults,
}: Pick<Shown, 'site' | 'deploymentId' | 'projectId' | 'environment' | 'defaults'>): FunctionOwner {
  return { account: site.account, deploymentId, projectId, environment, defaults }
}

async function answerAlone(
  cache: ContentCache,
  decision: Decision,
  rules: Decision,
  { visit, site }: Shown,
  { raw, response }: Exchange,
): Promise<void> {
  const { method, headers } = visit.request
  switch (decision.kind) {
    case 'file': {
      const file = { ...decision.file, status: decision.status }
      return answerFile(cache, response, { account: site.account, request: { method, headers }, file, rules })
    }
    case 'folder':
      return sendAnswer(raw, response, listDirectory(decision, rules))
    case 'redirect':
      return sendAnswer(raw, response, redirect(decision, rules))
    case 'status':
      return void response.writeHead(decision.status, { ...withRules(rules), ...emptyBody(decision.status) }).end()
    case 'error':
      return sendAnswer(raw, response, errorAnswer(visit, decision, rules))
    default: {
      const answer = pageAnswer('NOT_RUN', 501, visit.visitor, { [ERROR_HEADER]: 'FUNCTIONS_NOT_RUN' })
      return sendAnswer(raw, response, answer)
    }
  }
}

const NOINDEX: Header = { name: 'x-robots-tag', value: 'noindex' }
const UNINDEXED = new WeakMap<Decision, Decision>()

/** A copy of the decision with `noindex`. One object per decision, because derived values are cached by it. */
export function unindexed(decision: Decision): Decision {
  const before = UNINDEXED.get(decision)
  if (before !== undefined) return before
  const made = { ...decision, headers: [NOINDEX, ...decision.headers] }
  UNINDEXED.set(decision, made)
  return made
}

type Rules = Pick<Decision, 'headers' | 'cookies' | 'responseTransforms'>

/** TABLE headers that describe a body and are dropped when another one is sent. */
const OF_A_BODY = [
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'etag',
]

/** The headers and cookies of the rules, for a body of the platform. */
function withRules(rules: Rules): Outgoing['headers'] {
  const headers: Outgoing['headers'] = {}
  for (const { name, value } of responseHeaders(rules, [])) if (!OF_A_BODY.includes(name)) headers[name] = value
  if (rules.cookies.length > 0) headers['set-cookie'] = [headers['set-cookie'] ?? [], rules.cookies].flat()
  return headers
}

/** RFC 9110, 8.6: a 204 has no length. */
function emptyBody(status: number): Outgoing['headers'] {
  return status === 204 ? {} : { 'content-length': '0' }
}

function redirect({ status, location }: Extract<Decision, { kind: 'redirect' }>, rules: Rules): Outgoing {
  const headers = withRules(rules)
  const own = { location, 'content-type': 'text/plain; charset=utf-8' }
  // Browsers keep a permanent one for ever otherwise (RFC 9110 15.1), also behind a deployment that corrects it.
  const caching = headers['cache-control'] ?? browserCaching(undefined)
  return { status, headers: { ...headers, 'cache-control': caching, ...own }, body: 'Redirecting...\n' }
}

function listDirectory(list: Extract<Decision, { kind: 'folder' }>, rules: Rules): Outgoing {
  return { status: 200, headers: { ...withRules(rules), ...PAGE_HEADERS }, body: folderPage(list) }
}

/** TABLE error codes of rules → pages; others are SITE_FAULT. */
const PAGES: Partial<Record<ErrorCode, PageKind>> = {
  NOT_FOUND: 'NOT_FOUND',
  DENIED: 'DENIED',
  ROUTING_BUSY: 'BACK_IN_A_MOMENT',
}

/** Headers of the site such as CORS stay; those that describe the page are replaced. */
function errorAnswer(
  { visitor }: Visit,
  { status, code }: Pick<Extract<Decision, { kind: 'error' }>, 'status' | 'code'>,
  rules: Rules,
): Outgoing {
  const kind = PAGES[code] ?? (status === 404 ? 'NOT_FOUND' : 'SITE_FAULT')
  const answer = pageAnswer(kind, status, visitor, { [ERROR_HEADER]: code })
  return { ...answer, headers: { ...withRules(rules), ...answer.headers } }
}

/** Sends the deployment's page for the status of a failure, if that is a file, else one of ours. Both name the error. docs/functions.md: Errors. */
export async function showFailure(
  cache: ContentCache,
  { code }: FunctionFailure,
  page: Decision,
  { visit, site }: Shown,
  { raw, response }: Exchange,
): Promise<void> {
  drain(raw, response)
  const status = FUNCTION_ERRORS[code]
  response.setHeader(ERROR_HEADER, code)
  const { method, headers } = visit.request
  if (page.kind === 'file') {
    const file = { ...page.file, status: page.status }
    return answerFile(cache, response, { account: site.account, request: { method, headers }, file, rules: page })
  }
  const kind = status === 503 ? 'BACK_IN_A_MOMENT' : 'FUNCTION_FAILED'
  const retry = status === 503 ? { 'retry-after': MOMENT_SECONDS } : {}
  sendAnswer(raw, response, pageAnswer(kind, status, visit.visitor, retry))
}
