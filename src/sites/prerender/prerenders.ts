/** Answers visitors by prerendered pages, and lets their functions render them again. docs/prerendering.md. */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { isPartial } from '../../delivery/protocol/routing-manifest.ts'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import { networkOf } from '../../platform/base/network.ts'
import { purgeOf } from '../../platform/verdict/cache-purges.ts'
import { cookiePairs } from '../../platform/verdict/cookie-pairs.ts'
import { type Answers, openAnswers } from '../answers/answers.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import { FunctionFailure } from '../functions/faults.ts'
import type { FunctionRequest, Functions } from '../functions/functions.ts'
import { drain } from '../visitors/send.ts'
import { firstPage, shellOf } from './first-pages.ts'
import { mark } from './marks.ts'
import { LISTS, storeList, takeList } from './page-file.ts'
import { type PrerenderDecision, pageRequestOf } from './page-request.ts'
import { createPages, PAGE_BUDGET, type Page, type PageBudget, type Pages } from './pages.ts'
import { createRenderings, type PageOrder, type Rendered, type Renderings } from './renderings.ts'
import { type CacheState, sendPage, sendRendered } from './send-page.ts'

/** `purges`: what the control plane says of the project of the page. */
type PageOrderRequest = FunctionRequest & Pick<PageOrder, 'purges'>
type Exchange = { raw: IncomingMessage; response: ServerResponse }

export type Prerenders = {
  /** Answers by a kept page or by the function of the page. Gives a failure and throws as `Functions.answer` does, and ContentUnavailable. */
  answer(
    decision: PrerenderDecision,
    request: PageOrderRequest,
    exchange: Exchange,
  ): Promise<FunctionFailure | undefined>
  /** Answers by a kept answer of an ordinary function, or by the function. Gives a failure and throws as `answer` does. */
  answerShared: Answers['answer']
  /** Takes changed facts: pages of deployments that are gone are dropped. */
  take(lines: readonly FactLine[]): void
  close(): Promise<void>
}

/** `folder`: of this process alone, for the pages that are there at the next start. */
type Options = {
  functions: Functions
  cache: ContentCache
  folder: string
  log: Logger
  budget?: PageBudget
  now?: () => number
}
type State = { functions: Functions; cache: ContentCache; pages: Pages; renderings: Renderings } & {
  now: () => number
  /** Keys whose answers are for one visitor each, until this time. */
  personal: Map<string, number>
  /** Keys whose last renewal failed: not tried again until this time. */
  paused: Map<string, number>
}

const PERSONAL_MS = 60_000
const PAUSE_MS = 30_000

/** Opens the prerendered pages of a sites server, with those of its last stop. */
export async function openPrerenders(options: Options): Promise<Prerenders> {
  const { functions, cache, folder, log, budget = PAGE_BUDGET, now = Date.now } = options
  const pages = createPages(budget, (account, digest) => void cache.remove(account, digest).catch(() => {}))
  const renderings = createRenderings({ functions, cache, pages, now })
  const state: State = { functions, cache, pages, renderings, now, personal: new Map(), paused: new Map() }
  const before = await takeList<Page>(folder, LISTS.pages).catch((error): Page[] => {
    log.warn({ err: error }, 'cannot read the stored list of pages; they are rendered again')
    return []
  })
  for (const page of before) if (isThere(state, page)) pages.keep(page)
  const answers = openAnswers({ functions, cache, pages, now })
  return {
    answerShared: answers.answer,
    async answer(decision, request, exchange) {
      try {
        return await answer(state, decision, request, exchange)
      } catch (error) {
        if (error instanceof FunctionFailure) return error
        throw error
      }
    },
    take(lines) {
      const ids = new Set(lines.flatMap((line) => (line.kind === 'gone' && line.of === 'deployment' ? line.id : [])))
      if (ids.size === 0) return
      pages.dropDeployments(ids)
      renderings.outdate((key) => ids.has(key.split(' ', 1)[0]!))
    },
    async close() {
      await storeList(folder, LISTS.pages, pages.all()).catch((error) =>
        log.warn({ err: error }, 'cannot store the list of pages on disk'),
      )
    },
  }
}

async function answer(
  state: State,
  decision: PrerenderDecision,
  { purges, ...request }: PageOrderRequest,
  exchange: Exchange,
): Promise<FunctionFailure | undefined> {
  const { call, spec } = request
  const { prerender } = decision
  const { method } = call.request
  if (isPartial(prerender)) return state.functions.answer(request, exchange)
  if (decision.bypasses || (method !== 'GET' && method !== 'HEAD') || isDraft(decision, request))
    return state.functions.answer({ spec, call: { ...call, cached: 'BYPASS' } }, exchange)
  drain(exchange.raw, exchange.response)
  const page = pageRequestOf(spec.deploymentId, decision, call.request)
  const order = { ...request, decision, asked: page, purges, isPurged: false, asker: networkOf(call.ip ?? '') }
  const token = call.request.headers.get('x-prerender-revalidate')
  if (token !== undefined && isToken(token, prerender.bypassToken)) await renewOnDemand(state, order, token, exchange)
  else await show(state, order, exchange)
  return undefined
}

/** Draft mode: an editor with this cookie sees what is not published. */
function isDraft({ prerender: { bypassToken } }: PrerenderDecision, { call }: FunctionRequest): boolean {
  const pairs = cookiePairs(call.request.headers.get('cookie'))
  return pairs.some(([name, value]) => name === '__prerender_bypass' && isToken(value, bypassToken))
}

function isToken(value: string, token: string | undefined): boolean {
  if (token === undefined) return false
  const [a, b] = [Buffer.from(value), Buffer.from(token)]
  return a.length === b.length && timingSafeEqual(a, b)
}

/** `res.revalidate` of Next.js, and what asks like it. */
async function renewOnDemand(state: State, order: PageOrder, token: string, exchange: Exchange): Promise<void> {
  const ifGenerated = order.call.request.headers.get('x-prerender-revalidate-if-generated')
  if (ifGenerated !== undefined && (state.pages.use(order.asked.key) ?? firstPage(order, state.now())) === undefined)
    return void exchange.response.writeHead(404, { 'content-length': 0, 'x-vercel-cache': 'MISS' }).end()
  const headers = { 'x-prerender-revalidate': token }
  const more = ifGenerated === undefined ? {} : { 'x-prerender-revalidate-if-generated': ifGenerated }
  state.paused.delete(order.asked.key)
  const rendered = await state.renderings.renew(order, { ...headers, ...more })
  settle(state, order, rendered)
  await give(state, order, rendered, 'REVALIDATED', exchange)
}

async function show(state: State, order: PageOrder, exchange: Exchange): Promise<void> {
  const { asked, decision } = order
  const { fallback } = decision.prerender
  const page = state.pages.use(asked.key) ?? keepFirst(state, order)
  const purge = page && order.purges && purgeOf(order.purges, page, order.spec.environment)
  const freshness = page === undefined ? 'gone' : (purge ?? state.pages.freshness(page, state.now()))
  order.isPurged = purge !== undefined
  if (page !== undefined && freshness !== 'gone' && isThere(state, page)) {
    if (freshness !== 'fresh') renewBehind(state, order)
    if (await showPage(state, order, page, freshness === 'fresh', exchange)) return
  }
  if (page === undefined && fallback !== undefined && !isPersonal(state, order)) {
    renewBehind(state, order)
    return await sendPage(state.cache, shellOf(order, state.now()), order, 'PRERENDER', exchange, state.now())
  }
  await wait(state, order, exchange)
}

/** Returns false if its body was just removed from the file cache. */
async function showPage(
  state: State,
  order: PageOrder,
  page: Page,
  isFresh: boolean,
  exchange: Exchange,
): Promise<boolean> {
  const cached = page.isFirst && (!isFresh || !page.wasShown) ? 'PRERENDER' : isFresh ? 'HIT' : 'STALE'
  page.wasShown = true
  try {
    await sendPage(state.cache, page, order, cached, exchange, state.now())
    return true
  } catch (error) {
    if (page.isFirst || !(error instanceof ContentUnavailable) || exchange.response.headersSent) throw error
    state.pages.drop(page)
    return false
  }
}

/** The control plane has the file of the output, and none that a function made. Another list may have had the same bytes first, and removed them. */
function isThere({ cache }: State, { account, body, isFirst }: Page): boolean {
  return isFirst || cache.has(account, body.digest)
}

/** Waits for the page. One that may be meant for a single visitor is rendered for each. */
async function wait(state: State, order: PageOrder, exchange: Exchange): Promise<void> {
  const { rendered: waiting, isFirst } = isPersonal(state, order)
    ? { rendered: state.renderings.alone(order), isFirst: true }
    : state.renderings.join(order)
  const shared = await waiting
  const rendered = shared.keeping.kind === 'personal' && !isFirst ? await state.renderings.alone(order) : shared
  settle(state, order, rendered)
  await give(state, order, rendered, 'MISS', exchange)
}

function renewBehind(state: State, order: PageOrder): void {
  const { key } = order.asked
  if (state.renderings.isRunning(order) || (state.paused.get(key) ?? 0) > state.now()) return
  const pause = () => mark(state.paused, key, state.now() + PAUSE_MS)
  state.renderings
    .join(order)
    .rendered.then((rendered) => (isFailed(rendered) ? pause() : settle(state, order, rendered)), pause)
}

/** An error of the function, whose body its visitor may see. */
function isFailed({ answer }: Rendered): boolean {
  return answer.status >= 500
}

/** What is not kept any more is not shown any more, unless the function failed. */
function settle(state: State, { asked: { key } }: PageOrder, rendered: Rendered): void {
  if (isFailed(rendered)) return
  const { keeping } = rendered
  if (keeping.kind === 'personal') mark(state.personal, key, state.now() + PERSONAL_MS)
  else state.personal.delete(key)
  const page = keeping.kind === 'keep' ? undefined : state.pages.use(key)
  if (page !== undefined) state.pages.drop(page)
}

function isPersonal({ personal, now }: State, { asked }: PageOrder): boolean {
  return (personal.get(asked.key) ?? 0) > now()
}

async function give(
  { cache, renderings, now }: State,
  order: PageOrder,
  { answer: rendered, page }: Rendered,
  cached: CacheState,
  exchange: Exchange,
): Promise<void> {
  if (page !== undefined && cache.has(page.account, page.body.digest))
    return await sendPage(cache, page, order, cached, exchange, now())
  sendRendered(rendered, order, cached, exchange)
  renderings.countUnread(order, rendered.body.length, exchange.response)
}

function keepFirst(state: State, order: PageOrder): Page | undefined {
  const page = firstPage(order, state.now())
  if (page !== undefined) state.pages.keep(page)
  return page
}
