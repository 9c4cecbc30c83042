/** Makes pictures: one at a time of each, for all who wait for it, and accounts in turn. docs/pictures.md: Sandbox. */
import { availableParallelism } from 'node:os'
import type { Logger } from 'pino'
import { createSharedSlots, type SharedSlots } from '../../platform/fairness/shared-slots.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { setNewest } from '../content/newest.ts'
import { browserCaching } from '../functions/invoke.ts'
import type { Page, Pages } from '../prerender/pages.ts'
import { storeBody } from '../prerender/store-body.ts'
import { notValid, PictureFailure, throttled } from './faults.ts'
import type { PictureRequest } from './picture-request.ts'
import type { PictureSandbox } from './picture-sandbox.ts'
import { isSvg, pictureTypeOf } from './picture-type.ts'
import type { Located, Source, Sources } from './sources.ts'

/** `owner`: the deployment whose picture it is; empty for that of a file. `number`: of the last purge. `format`: undefined for that of the source. */
export type PictureOrder = {
  key: string
  account: string
  owner: string
  number: number
  asker: string
  located: Located
  picture: PictureRequest
  format: string | undefined
}

export type Making = {
  /** Waits for the picture that is made, or makes it. `before`: the one that is too old. Throws PictureFailure and ContentUnavailable. */
  join(order: PictureOrder, before: Page | undefined): Promise<Page>
  /** Resolves when nothing is made any more. */
  settled(): Promise<void>
}

type Means = {
  cache: ContentCache
  pages: Pages
  sandbox: PictureSandbox | undefined
  sources: Sources
  log: Logger
  now: () => number
}
type State = Means & {
  turns: SharedSlots
  running: Map<string, Promise<Page>>
  failures: Map<string, { failure: PictureFailure; until: number }>
}

/** What a visitor waits for the turn. */
const WAIT_MS = 20_000
/** How long a failure is given to others who ask for the same. */
const FAILED_MS = 10_000
const MAX_FAILURES = 10_000
/** What is sent as it is because nothing can make it now is tried again. */
const ORIGINAL_MS = 60_000
const MAX_SECONDS = 365 * 24 * 60 * 60
/** How long a picture is shown that cannot be made again. */
const STALE_MS = 7 * 24 * 60 * 60_000

/** The header of a picture that was not made. */
const ORIGINAL = { name: 'x-berth-picture', value: 'original' }

/** Creates the table of pictures that are made. Of the turns one is always left for another account. */
export function createMaking(means: Means): Making {
  const slots = Math.max(2, availableParallelism())
  const turns = createSharedSlots({ slots, ofOwner: slots })
  const state: State = { ...means, turns, running: new Map(), failures: new Map() }
  return {
    join: (order, before) => join(state, order, before),
    async settled() {
      await Promise.allSettled([...state.running.values()])
    },
  }
}

function join(state: State, order: PictureOrder, before: Page | undefined): Promise<Page> {
  const { running, failures, now } = state
  const { key } = order
  const failed = failures.get(key)
  if (failed !== undefined && failed.until > now()) return Promise.reject(failed.failure)
  return running.getOrInsertComputed(key, () => {
    const made = make(state, order, before)
    made
      .catch((error) => {
        if (error instanceof PictureFailure && error.code !== 'IMAGE_OPTIMIZATION_THROTTLED')
          setNewest(failures, key, { failure: error, until: now() + FAILED_MS }, MAX_FAILURES)
      })
      .finally(() => running.delete(key))
    return made
  })
}

async function make(state: State, order: PictureOrder, before: Page | undefined): Promise<Page> {
  const { sources, pages, now } = state
  const at = now()
  const source = await sources.get(order.located, order)
  try {
    const isSame = before !== undefined && before.source === source.digest && !isOriginal(before)
    const made = isSame ? before : await createPicture(state, order, source)
    const page: Page = { ...made, number: order.number, at, ...lifetimeOf(order, source, made, at) }
    pages.keep(page)
    return page
  } finally {
    source.release()
  }
}

function isOriginal({ headers }: Pick<Page, 'headers'>): boolean {
  return headers.some(({ name }) => name === ORIGINAL.name)
}

type Content = Omit<Page, 'at' | 'number' | 'freshUntil' | 'staleUntil'>

async function createPicture(state: State, order: PictureOrder, source: Source): Promise<Content> {
  const { key, account, owner, located } = order
  const { bytes, contentType, isOriginal } = await contentOf(state, order, source)
  const caching = { name: 'cache-control', value: browserCaching(source.caching) }
  return {
    key,
    account,
    deploymentId: owner,
    group: undefined,
    status: 200,
    tags: [],
    isFirst: false,
    // Deployments with the same file may have other rules for it.
    headers: [...(located.kind === 'file' ? [] : [caching]), ...(isOriginal ? [ORIGINAL] : [])],
    contentType,
    body: await keep(state, account, bytes),
    source: source.digest,
  }
}

async function keep({ cache, pages }: State, account: string, bytes: Buffer): Promise<Page['body']> {
  const body = await storeBody(cache, pages, account, bytes)
  if (body === undefined) throw throttled()
  return body
}

/** A file never changes. What else a deployment or a server answers is asked again. */
function lifetimeOf(
  { located, picture }: PictureOrder,
  { caching }: Source,
  made: Pick<Page, 'headers'>,
  at: number,
): Pick<Page, 'freshUntil' | 'staleUntil'> {
  if (isOriginal(made)) return { freshUntil: at + ORIGINAL_MS, staleUntil: null }
  if (located.kind === 'file') return { freshUntil: null, staleUntil: null }
  const seconds = Math.min(MAX_SECONDS, Math.max(picture.minSeconds, secondsOf(caching)))
  return { freshUntil: at + seconds * 1000, staleUntil: at + seconds * 1000 + STALE_MS }
}

function secondsOf(caching = ''): number {
  const [, shared] = /(?:^|[\s,])s-maxage="?(\d{1,10})/i.exec(caching) ?? []
  const [, own] = /(?:^|[\s,])max-age="?(\d{1,10})/i.exec(caching) ?? []
  return Number(shared ?? own ?? 0)
}

type MadeContent = { bytes: Buffer; contentType: string; isOriginal: boolean }

async function contentOf(state: State, order: PictureOrder, { bytes }: Source): Promise<MadeContent> {
  const type = pictureTypeOf(bytes)
  if (type === undefined) throw notValid("The requested resource isn't a valid image.")
  if (isSvg(type) && !order.picture.allowsSvg) throw notValid('"url" parameter is valid but image type is not allowed')
  const asIs = { bytes, contentType: type.type, isOriginal: false }
  if (!type.made) return asIs
  const made = await createInTurn(state, order, bytes)
  if (made === undefined) return { ...asIs, isOriginal: true }
  return made === 'asIs' ? asIs : { bytes: made.bytes, contentType: made.type, isOriginal: false }
}

async function createInTurn(
  { sandbox, turns, log }: State,
  { account, asker, picture, format }: PictureOrder,
  bytes: Buffer,
): ReturnType<PictureSandbox['make']> {
  if (sandbox === undefined) return undefined
  if (!(await turns.acquire(account, asker, WAIT_MS))) throw throttled()
  try {
    return await sandbox.make(bytes, { width: picture.width, quality: picture.quality, format })
  } catch (error) {
    if (error instanceof PictureFailure) throw error
    log.error({ err: error }, 'no sandbox for pictures can be started; they are sent as they are')
    return undefined
  } finally {
    turns.release(account, asker)
  }
}
