/** Answers visitors by pictures in the size and format that they ask for. docs/pictures.md. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import type { Egress } from '../../platform/adapters/egress.ts'
import { networkOf } from '../../platform/base/network.ts'
import { type CachePurges, purgeOf } from '../../platform/verdict/cache-purges.ts'
import { MOMENT_SECONDS } from '../../platform/verdict/visitor-answer.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import { LISTS, storeList, takeList } from '../prerender/page-file.ts'
import { createPages, PAGE_BUDGET, type Page, type PageBudget } from '../prerender/pages.ts'
import type { Decision } from '../router/decision.ts'
import { hopsOf, MAX_HOPS } from '../visitors/forward.ts'
import { drain, sendAnswer, sentence } from '../visitors/send.ts'
import { notValid, PICTURE_ERRORS, PictureFailure, throttled } from './faults.ts'
import type { AskSelf } from './inner-request.ts'
import { locate, nameOf, type Place } from './locate.ts'
import { createMaking, type Making, type PictureOrder } from './making.ts'
import { type AskedPicture, formatFor, type PictureRequest } from './picture-request.ts'
import type { PictureSandbox } from './picture-sandbox.ts'
import { sendPicture } from './send-picture.ts'
import { openSources } from './sources.ts'

/** `purges`: of the project. */
type PictureCall = Place & {
  rules: Pick<Decision, 'headers' | 'cookies' | 'responseTransforms'>
  purges: CachePurges | undefined
}
type Exchange = { raw: IncomingMessage; response: ServerResponse }

export type Pictures = {
  /** Answers by a picture, or by a sentence that says what is wrong. Throws ContentUnavailable before anything is sent, and errors while sending. */
  answer(picture: AskedPicture, call: PictureCall, exchange: Exchange): Promise<void>
  /** Takes changed facts: pictures of deployments that are gone are dropped. */
  take(lines: readonly FactLine[]): void
  close(): Promise<void>
}

/** `folder`: of this process alone. `sandbox`: undefined where pictures are sent as they are. */
type Options = {
  egress: Pick<Egress, 'forward'>
  cache: ContentCache
  askSelf: AskSelf
  sandbox: PictureSandbox | undefined
  folder: string
  log: Logger
  budget?: PageBudget
  now?: () => number
}

type State = Pick<Options, 'cache'> & { pages: ReturnType<typeof createPages>; making: Making; now: () => number }

/** Opens the pictures of a sites server, with those of its last stop. */
export async function openPictures(options: Options): Promise<Pictures> {
  const { cache, sandbox, log, budget = PAGE_BUDGET, now = Date.now } = options
  const directory = join(options.folder, 'pictures')
  createDirectory(directory)
  const pages = createPages(budget, (account, digest) => void cache.remove(account, digest).catch(() => {}))
  const making = createMaking({ cache, pages, sandbox, sources: openSources(options), log, now })
  const state: State = { cache, pages, making, now }
  const before = await takeList<Page>(directory, LISTS.pages).catch((error) => {
    log.warn({ err: error }, 'cannot read the stored list of pictures; they are made again')
    return []
  })
  for (const page of before) if (cache.has(page.account, page.body.digest)) pages.keep(page)
  return {
    async answer(picture, call, exchange) {
      try {
        await answer(state, picture, call, exchange)
      } catch (error) {
        if (!(error instanceof PictureFailure) || exchange.response.headersSent) throw error
        refuse(error, exchange)
      }
    },
    take(lines) {
      const ids = new Set(lines.flatMap((line) => (line.kind === 'gone' && line.of === 'deployment' ? line.id : [])))
      if (ids.size > 0) pages.dropDeployments(ids)
    },
    async close() {
      await sandbox?.close()
      await making.settled()
      await storeList(directory, LISTS.pages, pages.all()).catch((error) =>
        log.warn({ err: error }, 'cannot store the list of pictures on disk'),
      )
    },
  }
}

function refuse({ code, message }: PictureFailure, { raw, response }: Exchange): void {
  const status = PICTURE_ERRORS[code]
  const answer = sentence(status, message, code)
  const retry = status === 503 ? { 'retry-after': MOMENT_SECONDS } : {}
  sendAnswer(raw, response, { ...answer, headers: { ...answer.headers, ...retry } })
}

async function answer(state: State, picture: AskedPicture, call: PictureCall, exchange: Exchange): Promise<void> {
  const { raw, response } = exchange
  const { request } = call.visit
  drain(raw, response)
  if (request.method !== 'GET' && request.method !== 'HEAD') return sendAnswer(raw, response, METHODS)
  if ('refusal' in picture) throw notValid(picture.refusal)
  if (hopsOf(call.visit) >= MAX_HOPS)
    throw new PictureFailure('INFINITE_LOOP_DETECTED', 'The rules of these sites request this picture in a loop.')
  const order = await orderOf(picture, call)
  for (let left = 1; ; left--) {
    const { page, cached } = await pageOf(state, order, call.purges)
    try {
      return await sendPicture(state.cache, page, { ...order, ...call, cached }, response)
    } catch (error) {
      // Its file was just removed from the cache.
      if (!(error instanceof ContentUnavailable) || response.headersSent) throw error
      state.pages.drop(page)
      if (left === 0) throw throttled()
    }
  }
}

const METHODS = {
  ...sentence(405, 'This path answers GET and HEAD only.'),
  headers: { allow: 'GET, HEAD', 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
}

/** What is part of the key changes the picture. Nothing else of the visitor does. */
async function orderOf(picture: PictureRequest, call: PictureCall): Promise<PictureOrder> {
  const { account, deploymentId, visit, purges } = call
  const located = await locate(picture.source, call)
  const format = formatFor(visit.request.headers.get('accept'), picture.formats)
  const { width, quality, allowsSvg } = picture
  const key = [account, nameOf(located, call), width, quality, format ?? 'source', allowsSvg].join(' ')
  const owner = located.kind === 'file' ? '' : deploymentId
  const number = purges?.last ?? 0
  return { key, account, owner, number, asker: networkOf(visit.visitor.ip), located, picture, format }
}

/** A picture that is too old is shown while it is made again. */
async function pageOf(
  { pages, making, cache, now }: State,
  order: PictureOrder,
  purges: CachePurges | undefined,
): Promise<{ page: Page; cached: 'HIT' | 'STALE' | 'MISS' }> {
  const page = pages.use(order.key)
  const isThere = page !== undefined && cache.has(page.account, page.body.digest)
  if (!isThere) return { page: await making.join(order, undefined), cached: 'MISS' }
  const purge = purges && order.located.kind !== 'file' ? purgeOf(purges, page) : undefined
  const freshness = purge ?? pages.freshness(page, now())
  if (freshness === 'fresh') return { page, cached: 'HIT' }
  if (freshness === 'gone') return { page: await making.join(order, undefined), cached: 'MISS' }
  // A failure is remembered for its next visitor.
  making.join(order, page).catch(() => {})
  return { page, cached: 'STALE' }
}
