/** Answers of functions that are kept for other visitors, as they say themselves. docs/prerendering.md: Answers of functions. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { networkOf } from '../../platform/base/network.ts'
import { type CachePurges, lastPurgeOf, purgeOf } from '../../platform/verdict/cache-purges.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import type { FunctionFailure } from '../functions/faults.ts'
import type { FunctionRequest, Functions } from '../functions/functions.ts'
import { CollectedAnswer } from '../prerender/collect.ts'
import { keptHeaders, type Lifetime, lifetimeOfAnswer, type PageAnswer, tagsOf } from '../prerender/keeping.ts'
import { mark } from '../prerender/marks.ts'
import type { Page, Pages } from '../prerender/pages.ts'
import { createRenderBudget } from '../prerender/render-budget.ts'
import { sendPage } from '../prerender/send-page.ts'
import { storeBody } from '../prerender/store-body.ts'
import { noteVary, type SharedQuestion, sharedQuestionOf, variantOf, varyOf, withoutParts } from './answer-key.ts'
import { TeedAnswer } from './teed-answer.ts'

type Exchange = { raw: IncomingMessage; response: ServerResponse }
type SharedRequest = FunctionRequest & { purges: CachePurges | undefined }

export type Answers = {
  /** Answers by a kept answer, or by the function. Gives a failure of the function; throws as `Functions.answer` does. */
  answer(request: SharedRequest, exchange: Exchange): Promise<FunctionFailure | undefined>
}

type Means = { functions: Pick<Functions, 'answer'>; cache: ContentCache; pages: Pages; now: () => number }
/** `isKept`: once its head is there. `ended`: it can be found, where it is kept, and never later than its collecting ends. */
type Fill = { isKept: Promise<boolean>; ended: Promise<unknown> }
type State = Means & {
  budget: ReturnType<typeof createRenderBudget>
  fills: Map<string, Fill>
  /** The headers that the answers of a base vary by. */
  vary: Map<string, string[]>
  /** Bases whose last answer was not kept, until this time: no visitor waits for the next. */
  passed: Map<string, number>
  /** Bases whose last answer was to be kept by its head, until this time. */
  shared: Map<string, number>
  /** Keys whose last renewal failed. */
  paused: Map<string, number>
  renewing: Set<string>
}
type Order = SharedRequest & { question: SharedQuestion }
/** `number`: of the last purge that was known. */
type Made = { at: number; number: number }

/** Bytes of answers that are being collected, in all and of one account. */
const MAX_BYTES = 64 * 1024 ** 2
const OF_ACCOUNT = 16 * 1024 ** 2
/** Answers of others that a visitor waits for: each may fail, or vary by what this visitor sent. */
const TRIES = 3
const PASS_MS = 60 * 60_000
/** How long others wait for the head of an answer that may be for one visitor, such as a slow one. */
const HEAD_MS = 5000
const PAUSE_MS = 30_000

/** Opens the kept answers, which are in the budget of the pages. */
export function openAnswers(means: Means): Answers {
  const state: State = {
    ...{ ...means, budget: createRenderBudget(MAX_BYTES, OF_ACCOUNT), fills: new Map(), vary: new Map() },
    ...{ passed: new Map(), shared: new Map(), paused: new Map(), renewing: new Set() },
  }
  return {
    async answer(request, exchange) {
      const question = sharedQuestionOf(request, exchange.raw)
      const { purges: _, ...plain } = request
      if (question === undefined) return means.functions.answer(plain, exchange)
      const order = { ...request, question }
      for (let left = TRIES; left > 0; left--) {
        if (await show(state, order, exchange)) return undefined
        if (!question.isPlain) return means.functions.answer(plain, exchange)
        if (!(await waits(state, question))) break
      }
      return fill(state, order, exchange)
    },
  }
}

/** Waits for another visitor's answer. Returns false where no other asks, or it is not kept. */
async function waits(state: State, question: SharedQuestion): Promise<boolean> {
  const running = state.fills.get(keyOf(state, question))
  if (running === undefined || (state.passed.get(question.base) ?? 0) > state.now()) return false
  const isShared = (state.shared.get(question.base) ?? 0) > state.now()
  const late = isShared ? [] : [sleep(HEAD_MS, false, { ref: false })]
  if (!(await Promise.race([running.isKept, ...late]))) return false
  await running.ended
  return true
}

/** Sends a kept answer, and renews one that is stale behind its visitor. Returns false where none is kept. */
async function show(state: State, order: Order, exchange: Exchange): Promise<boolean> {
  const { pages, cache, now } = state
  const { question, purges, spec } = order
  const key = keyOf(state, question)
  const page = pages.use(key)
  if (page === undefined) return false
  const freshness = (purges && purgeOf(purges, page, spec.environment)) ?? pages.freshness(page, now())
  if (freshness === 'gone' || !cache.has(page.account, page.body.digest)) {
    pages.drop(page)
    return false
  }
  if (freshness !== 'fresh') renewBehind(state, order, page)
  try {
    await sendPage(cache, page, order, freshness === 'fresh' ? 'HIT' : 'STALE', exchange, now())
    return true
  } catch (error) {
    if (!(error instanceof ContentUnavailable) || exchange.response.headersSent) throw error
    pages.drop(page)
    return false
  }
}

function keyOf({ vary }: State, question: SharedQuestion): string {
  return variantOf(question, vary.get(question.base) ?? [])
}

/** Asks the function for this visitor. Others wait for the answer, unless it turns out to be for one. */
async function fill(state: State, order: Order, exchange: Exchange): Promise<FunctionFailure | undefined> {
  const { functions, fills, budget, now } = state
  const { spec, call, question, purges } = order
  const made = { at: now(), number: lastPurgeOf(purges, spec.environment) }
  const head = Promise.withResolvers<boolean>()
  const end = Promise.withResolvers<void>()
  const fill: Fill = { isKept: head.promise, ended: end.promise }
  const key = keyOf(state, question)
  if (!fills.has(key)) fills.set(key, fill)
  const letGo = () => {
    if (fills.get(key) === fill) fills.delete(key)
    head.resolve(false)
    end.resolve()
  }
  const teed = new TeedAnswer({
    ...{ account: spec.account, call, visitor: exchange.response, budget },
    isKept(answer) {
      const isKept = lifetimeOf(answer) !== undefined
      if (isKept) mark(state.shared, question.base, now() + PASS_MS)
      else pass(state, question.base)
      head.resolve(isKept)
      return isKept
    },
    // It goes on at the speed of its visitor, for whom others do not wait.
    onOverflow() {
      pass(state, question.base)
      letGo()
    },
  })
  try {
    const asker = networkOf(call.ip ?? '')
    return await functions.answer(
      { spec, call: { ...call, takesAsIs: true } },
      { raw: undefined, response: teed, asker },
    )
  } finally {
    await keepCollected(state, order, teed, made).finally(letGo)
  }
}

/** No visitor waits for the next answer of this base. */
function pass({ passed, shared, now }: State, base: string): void {
  mark(passed, base, now() + PASS_MS)
  shared.delete(base)
}

async function keepCollected(state: State, order: Order, teed: TeedAnswer, made: Made): Promise<void> {
  const collected = teed.collected()
  if (collected === undefined) return
  const isKept = await keep(state, order, collected.answer, made).finally(collected.release)
  if (isKept) state.passed.delete(order.question.base)
  else pass(state, order.question.base)
}

function lifetimeOf(answer: Omit<PageAnswer, 'body'>): Lifetime | undefined {
  const isStream = String(answer.headers['content-type'] ?? '').startsWith('text/event-stream')
  return isStream || varyOf(answer.headers.vary) === undefined ? undefined : lifetimeOfAnswer(answer)
}

/** Keeps an answer. Returns false where it is not to be kept, or the file cache cannot take it now. */
async function keep(
  state: State,
  { spec, question }: Order,
  { body: bytes, ...answer }: PageAnswer,
  made: Made,
): Promise<boolean> {
  const { cache, pages } = state
  const { account, deploymentId } = spec
  const lifetime = lifetimeOf(answer)
  const names = varyOf(answer.headers.vary)
  if (lifetime === undefined || names === undefined) return false
  const body = await storeBody(cache, pages, account, bytes)
  if (body === undefined) return false
  noteVary(state.vary, question.base, names)
  pages.keep({
    key: variantOf(question, names),
    group: undefined,
    account,
    deploymentId,
    ...made,
    isFirst: false,
    status: answer.status,
    headers: keptHeaders(answer.headers),
    tags: allTags(answer, question),
    contentType: String(answer.headers['content-type'] ?? 'application/octet-stream'),
    body,
    freshUntil: made.at + lifetime.freshMs!,
    staleUntil: made.at + lifetime.staleMs!,
  })
  return true
}

/** A purge of a path is one of the tag that Next.js gives it. */
function allTags({ headers }: Omit<PageAnswer, 'body'>, { path }: SharedQuestion): string[] {
  return [...tagsOf(headers), `_N_T_${path.slice(0, 1024)}`]
}

function renewBehind(state: State, order: Order, page: Page): void {
  const { renewing, paused, now } = state
  const { key } = page
  if (renewing.has(key) || (paused.get(key) ?? 0) > now()) return
  renewing.add(key)
  renew(state, order, page)
    .catch(() => mark(paused, key, now() + PAUSE_MS))
    .finally(() => renewing.delete(key))
}

async function renew(state: State, order: Order, page: Page): Promise<void> {
  const { functions, budget, now } = state
  const { spec, call, question, purges } = order
  const made = { at: now(), number: lastPurgeOf(purges, spec.environment) }
  const collected = new CollectedAnswer(spec.account, budget)
  const headers = withoutParts(question.headers)
  const request = { ...call.request, method: 'GET', headers: withoutParts(call.request.headers) }
  const invocation = { ...call.invocation, headers: [...headers] }
  try {
    const response = { raw: undefined, response: collected, asker: networkOf(call.ip ?? '') }
    const failure = await functions.answer({ spec, call: { ...call, request, invocation, takesAsIs: true } }, response)
    if (failure !== undefined) throw failure
    const answer = collected.whole()
    if (answer.status >= 500) throw new Error(`the function answered with status ${answer.status}`)
    // What is for one visitor now is shown to no other any more.
    if (!(await keep(state, order, answer, made))) state.pages.drop(page)
  } finally {
    collected.release()
  }
}
