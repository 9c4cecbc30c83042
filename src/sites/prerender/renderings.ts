/** Renders pages by their function: one at a time of each, for all who wait for it. docs/prerendering.md: Rendering. */
import type { ServerResponse } from 'node:http'
import { type CachePurges, lastPurgeOf } from '../../platform/verdict/cache-purges.ts'
import { countUnread } from '../answers/unread.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { FunctionFailure } from '../functions/faults.ts'
import type { FunctionRequest, Functions } from '../functions/functions.ts'
import { CollectedAnswer } from './collect.ts'
import { type Keeping, keepingOf, keptHeaders, type PageAnswer, tagsOf } from './keeping.ts'
import type { PageRequest, PrerenderDecision } from './page-request.ts'
import type { Page, Pages } from './pages.ts'
import { createRenderBudget } from './render-budget.ts'
import { storeBody } from './store-body.ts'

/** `asker`: the network of the visitor who takes the turn. `isPurged`: the page that is there was purged, so no data of before it counts. */
export type PageOrder = FunctionRequest & {
  decision: PrerenderDecision
  asked: PageRequest
  asker: string
  purges: CachePurges | undefined
  isPurged: boolean
}

/** `page`: undefined where it is not kept. */
export type Rendered = { answer: PageAnswer; keeping: Keeping; page: Page | undefined }

export type Renderings = {
  /** Whether a rendering runs that began after the last purge. */
  isRunning(order: PageOrder): boolean
  /** Waits for the rendering of a page that runs, or starts one. Throws FunctionFailure. */
  join(order: PageOrder): { rendered: Promise<Rendered>; isFirst: boolean }
  /** Renders for one visitor, whatever else runs. */
  alone(order: PageOrder): Promise<Rendered>
  /** Renders again: what runs already is not kept. `headers`: more of them for the function. */
  renew(order: PageOrder, headers: Record<string, string>): Promise<Rendered>
  /** What is being rendered for these keys is given to those who wait, and not kept. */
  outdate(isOutdated: (key: string) => boolean): void
  /** Counts a page that was just sent, and is not kept, as long as its visitor has not read it. */
  countUnread(order: PageOrder, bytes: number, visitor: ServerResponse): void
}

/** `number`: of the last purge when it began. */
type Running = { rendered: Promise<Rendered>; isOutdated: boolean; number: number }
type Means = { functions: Pick<Functions, 'answer'>; cache: ContentCache; pages: Pages; now: () => number }
type State = Means & { running: Map<string, Running>; budget: ReturnType<typeof createRenderBudget> }

/** Bytes of pages that are being rendered or that their visitor has not read, in all and of one account. */
const MAX_BYTES = 128 * 1024 ** 2
const OF_ACCOUNT = 32 * 1024 ** 2

/** Creates the table of renderings. */
export function createRenderings(means: Means): Renderings {
  const state: State = { ...means, running: new Map(), budget: createRenderBudget(MAX_BYTES, OF_ACCOUNT) }
  const { running } = state
  return {
    isRunning: (order) => (running.get(order.asked.key)?.number ?? -1) >= numberOf(order),
    join(order) {
      const before = running.get(order.asked.key)
      if (before !== undefined && before.number >= numberOf(order)) return { rendered: before.rendered, isFirst: false }
      if (before !== undefined) before.isOutdated = true
      return { rendered: start(state, order, {}), isFirst: true }
    },
    alone: (order) => renderAndKeep(state, order, {}, () => false),
    renew(order, headers) {
      const before = running.get(order.asked.key)
      if (before !== undefined) before.isOutdated = true
      return start(state, order, headers)
    },
    outdate(isOutdated) {
      for (const [key, rendering] of running) {
        if (!isOutdated(key)) continue
        rendering.isOutdated = true
        running.delete(key)
      }
    },
    countUnread: ({ spec }, bytes, visitor) => countUnread(visitor, state.budget, spec.account, bytes),
  }
}

function start(state: State, order: PageOrder, headers: Record<string, string>): Promise<Rendered> {
  const { key } = order.asked
  const rendering: Running = { isOutdated: false, rendered: Promise.resolve() as never, number: numberOf(order) }
  rendering.rendered = renderAndKeep(state, order, headers, () => rendering.isOutdated).finally(() => {
    if (state.running.get(key) === rendering) state.running.delete(key)
  })
  state.running.set(key, rendering)
  return rendering.rendered
}

async function renderAndKeep(
  state: State,
  order: PageOrder,
  headers: Record<string, string>,
  isOutdated: () => boolean,
): Promise<Rendered> {
  const { cache, pages, now } = state
  const { account } = order.spec
  const at = now()
  const number = numberOf(order)
  const collected = new CollectedAnswer(account, state.budget)
  try {
    const answer = await render(state, order, headers, collected)
    const keeping = keepingOf(answer, order.decision.prerender)
    const isKept = keeping.kind === 'keep' && !isOutdated()
    const body = isKept ? await storeBody(cache, pages, account, answer.body) : undefined
    if (keeping.kind !== 'keep' || body === undefined || isOutdated()) return { answer, keeping, page: undefined }
    const { freshMs, staleMs } = keeping.lifetime
    const page: Page = {
      ...pageOf(order, answer.status, answer.headers),
      ...{ body, at, number, isFirst: false, freshUntil: endOf(at, freshMs), staleUntil: endOf(at, staleMs) },
    }
    const before = pages.use(page.key)
    pages.keep(page)
    // One that another of its group made stale belongs to the round of that one.
    const isOfRound = before !== undefined && pages.freshness(before, at) === 'group'
    if (page.group !== undefined && !isOfRound) pages.renewGroup(page.group, at)
    return { answer, keeping, page }
  } finally {
    collected.release()
  }
}

async function render(
  { functions }: State,
  { spec, call, asked, asker, decision, isPurged }: PageOrder,
  headers: Record<string, string>,
  collected: CollectedAnswer,
): Promise<PageAnswer> {
  const { prerender, invocation } = decision
  const { path, search, routeMatches, headers: own } = asked
  const { bypassToken } = prerender
  const demand = isPurged && bypassToken !== undefined ? { 'x-prerender-revalidate': bypassToken } : {}
  const failure = await functions.answer(
    {
      spec,
      call: {
        ...call,
        path,
        ip: undefined,
        takesAsIs: true,
        rendersPage: true,
        request: {
          ...call.request,
          method: 'GET',
          headers: new Map([...own, ...Object.entries({ ...demand, ...headers })]),
        },
        invocation: { path, search, routeMatches, matchedPath: invocation.matchedPath, concretePath: path },
      },
    },
    { raw: undefined, response: collected, asker },
  )
  if (failure !== undefined) throw failure
  const answer = collected.whole()
  if (answer.status >= 500 && !prerender.exposeErrBody)
    throw new FunctionFailure('FUNCTION_INVOCATION_FAILED', `the page answered with status ${answer.status}`)
  return answer
}

/** Returns a page, but for its body and its times. */
export function pageOf(
  { spec, asked: { key, group } }: PageOrder,
  status: number,
  headers: PageAnswer['headers'],
): Pick<Page, 'key' | 'group' | 'account' | 'deploymentId' | 'status' | 'headers' | 'tags' | 'contentType'> {
  const { account, deploymentId } = spec
  const contentType = String(headers['content-type'] ?? 'application/octet-stream')
  return {
    key,
    group,
    account,
    deploymentId,
    status,
    headers: keptHeaders(headers),
    tags: tagsOf(headers),
    contentType,
  }
}

function numberOf({ purges, spec }: PageOrder): number {
  return lastPurgeOf(purges, spec.environment)
}

/** Returns the end of a time from `at` on; null: without end. */
export function endOf(at: number, ms: number | undefined): number | null {
  return ms === undefined ? null : at + ms
}
