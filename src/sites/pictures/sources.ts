/** Gets the source of a picture, within limits of size and time. docs/pictures.md: Sources. */
import { createHash } from 'node:crypto'
import type { Egress, ForwardedAnswer } from '../../platform/adapters/egress.ts'
import { collectBytes } from '../../platform/fairness/collected-bytes.ts'
import { createSharedSlots, type SharedSlots } from '../../platform/fairness/shared-slots.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { piecesOf } from '../content/opened-file.ts'
import { createRenderBudget, type RenderBudget } from '../prerender/render-budget.ts'
import { notValid, type PictureError, PictureFailure, throttled } from './faults.ts'
import type { AskSelf, InnerRequest } from './inner-request.ts'

/** Where the source is. `file`: of the deployment, in the file cache. `caching`: its `Cache-Control`. */
export type Located =
  | { kind: 'file'; digest: string; size: number; caching: string | undefined }
  | { kind: 'self'; request: InnerRequest }
  | { kind: 'remote'; url: string; via: string }

/** `caching`: what the server said in `Cache-Control`. `release`: the bytes are needed no more. */
export type Source = { bytes: Buffer; digest: string; caching: string | undefined; release(): void }

/** `asker`: the network of the visitor who takes the turn. */
type Asker = { account: string; asker: string }

export type Sources = {
  /** Reads a source. Throws PictureFailure, and ContentUnavailable for a file. */
  get(located: Located, asker: Asker): Promise<Source>
}

type Means = { egress: Pick<Egress, 'forward'>; cache: Pick<ContentCache, 'open'>; askSelf: AskSelf }
type State = Means & { slots: SharedSlots; budget: RenderBudget }
type Answer = Omit<Source, 'release' | 'digest'>

const MIB = 1024 ** 2
const MAX_SOURCE = 32 * MIB
/** Sources that are read at once, and those of one account. */
const AT_ONCE = 32
const OF_ACCOUNT = 8
const WAIT_MS = 10_000
/** Bytes of sources in memory, in all and of one account. */
const MAX_BYTES = 128 * MIB
const BYTES_OF_ACCOUNT = 64 * MIB
/** For a whole source: of another server, and of a function of the deployment. */
const REMOTE_MS = 15_000
const SELF_MS = 60_000
const MAX_REDIRECTS = 3
const HEADERS = { accept: 'image/*,*/*;q=0.8', 'user-agent': 'berth image optimization' }

/** Opens the sources of a sites server. */
export function openSources(means: Means): Sources {
  const state = {
    ...means,
    slots: createSharedSlots({ slots: AT_ONCE, ofOwner: OF_ACCOUNT }),
    budget: createRenderBudget(MAX_BYTES, BYTES_OF_ACCOUNT),
  }
  return {
    async get(located, { account, asker }) {
      if (located.kind === 'file' && located.size > MAX_SOURCE) throw notValid(TOO_LARGE)
      if (!(await state.slots.acquire(account, asker, WAIT_MS))) throw throttled()
      try {
        return await read(state, located, account)
      } finally {
        state.slots.release(account, asker)
      }
    },
  }
}

const TOO_LARGE = `"url" parameter is valid but the picture has more than ${MAX_SOURCE / MIB} MiB`

async function read(state: State, located: Located, account: string): Promise<Source> {
  let held = 0
  const take = (bytes: number) => {
    if (!state.budget.take(account, bytes)) throw throttled()
    held += bytes
  }
  const release = () => {
    state.budget.giveBack(account, held)
    held = 0
  }
  try {
    const answer = await answerOf(state, located, account, take)
    return { ...answer, digest: createHash('sha256').update(answer.bytes).digest('hex'), release }
  } catch (error) {
    release()
    throw error
  }
}

type Take = (bytes: number) => void

async function answerOf(state: State, located: Located, account: string, take: Take): Promise<Answer> {
  if (located.kind === 'file') return readFile(state, located, account, take)
  if (located.kind === 'self') return askSelf(state, located.request, take)
  return fetchRemote(state, located, account, take)
}

async function readFile(
  { cache }: State,
  { digest, size, caching }: Extract<Located, { kind: 'file' }>,
  account: string,
  take: Take,
): Promise<Answer> {
  const file = await cache.open(account, { sha256: digest, size })
  try {
    return { bytes: await whole(piecesOf(file), take), caching }
  } finally {
    file.close()
  }
}

async function askSelf({ askSelf }: State, request: InnerRequest, take: Take): Promise<Answer> {
  const headers = { ...HEADERS, ...request.headers }
  try {
    return await askSelf({ ...request, headers }, AbortSignal.timeout(SELF_MS), async ({ status, headers, body }) => {
      if (status >= 500) throw new PictureFailure('INTERNAL_OPTIMIZED_IMAGE_REQUEST_FAILED', OWN_FAILED)
      if (status !== 200) throw notValid(`"url" parameter is valid but its response has the status ${status}`)
      return { bytes: await whole(body, take), caching: headers['cache-control'] }
    })
  } catch (error) {
    if (error instanceof PictureFailure) throw error
    throw new PictureFailure('INTERNAL_OPTIMIZED_IMAGE_REQUEST_FAILED', OWN_FAILED)
  }
}

const OWN_FAILED = '"url" parameter is valid but the site did not answer it'

async function fetchRemote(
  { egress }: State,
  { url, via }: Extract<Located, { kind: 'remote' }>,
  account: string,
  take: Take,
): Promise<Answer> {
  const signal = AbortSignal.timeout(REMOTE_MS)
  let next = url
  for (let left = MAX_REDIRECTS; ; left--) {
    const request = { url: next, method: 'GET', headers: { ...HEADERS, via }, body: null, accountId: account }
    const answer = await once(egress, request, signal, (response) => answerOfServer(response, take))
    if (!('location' in answer)) return answer
    const target = URL.parse(answer.location, next)
    if (target === null) throw new PictureFailure('OPTIMIZED_EXTERNAL_IMAGE_REQUEST_INVALID', BAD_REDIRECT)
    if (left === 0) throw new PictureFailure('OPTIMIZED_EXTERNAL_IMAGE_TOO_MANY_REDIRECTS', TOO_MANY)
    next = target.href
  }
}

const BAD_REDIRECT = '"url" parameter is valid but the server redirects to an address that is none'
const TOO_MANY = `"url" parameter is valid but the server redirects more than ${MAX_REDIRECTS} times`

type Answered = Answer | { location: string }

/** Every address is checked by the egress, those of redirects too. */
async function once(
  egress: State['egress'],
  request: Parameters<Egress['forward']>[0],
  signal: AbortSignal,
  take: (answer: ForwardedAnswer) => Promise<Answered>,
): Promise<Answered> {
  const answered = Promise.withResolvers<Answered>()
  try {
    await egress.forward(request, signal, async (answer) => answered.resolve(await take(answer)))
  } catch (error) {
    if (error instanceof PictureFailure) throw error
    throw new PictureFailure(
      'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED',
      '"url" parameter is valid but the server did not answer, or not in time',
    )
  }
  return answered.promise
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

async function answerOfServer({ statusCode, headers, body }: ForwardedAnswer, take: Take): Promise<Answered> {
  // What is left of it is not read.
  body.on('error', () => {})
  if (REDIRECTS.has(statusCode) && headers.location !== undefined) {
    await body.dump()
    return { location: String(headers.location) }
  }
  if (statusCode !== 200) {
    await body.dump()
    throw new PictureFailure(
      codeOf(statusCode),
      `"url" parameter is valid but the server answers with the status ${statusCode}`,
    )
  }
  if (Number(headers['content-length'] ?? 0) > MAX_SOURCE) {
    body.destroy()
    throw notValid(TOO_LARGE)
  }
  const caching = headers['cache-control']
  return { bytes: await whole(body, take), caching: caching === undefined ? undefined : String(caching) }
}

function codeOf(status: number): PictureError {
  if (status === 401 || status === 403) return 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_UNAUTHORIZED'
  return status >= 500 ? 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_FAILED' : 'OPTIMIZED_EXTERNAL_IMAGE_REQUEST_INVALID'
}

async function whole(body: AsyncIterable<Buffer>, take: Take): Promise<Buffer> {
  const collected = collectBytes()
  let size = 0
  for await (const piece of body) {
    size += piece.length
    if (size > MAX_SOURCE) throw notValid(TOO_LARGE)
    take(piece.length)
    collected.push(piece)
  }
  return collected.join()
}
