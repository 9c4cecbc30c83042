/** Answers as they leave, and those that are given again until something in them changes. docs/architecture.md: What is remembered. */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Caller, Deps } from '../../context.ts'
import { callerTopics, isCachedCaller } from '../access/identify.ts'
import type { Cache, CompressedValue } from '../cache/cache.ts'
import { createVersionedCache, type VersionedCache } from '../cache/versioned-cache.ts'
import type { Row } from '../db/schema.ts'
import { serialize, serializeLines, serializeList } from '../schema/serialize.ts'
import { linkHeader } from './pagination.ts'
import { splitQuery } from './query.ts'
import type { CacheTopics, Route } from './route.ts'

/** An answer in the form in which it is sent. */
export type SerializedResponse = {
  links: string | undefined
  /** When it is not the route's own. */
  contentType?: string
  body: string | Buffer | undefined
  /** Of an answer that was kept: the route's may be another today. */
  status?: number
  headers?: Record<string, string>
}

/** Writes what an operation gave, by the schema of its route. `url`: as the caller wrote it. */
export function serializeResponse(route: Route, answer: unknown, url: string): SerializedResponse {
  const links = linkHeader(answer, url)
  if (route.textReply) return { links, body: answer as string }
  if (route.jsonLines) return { links, body: `${serialize(route.reply!, answer)}\n`, contentType: LINES }
  const headers = route.replyHeaders?.(answer)
  return { links, body: route.reply && serialize(route.reply, answer), ...(headers && { headers }) }
}

const LINES = 'application/stream+json'

/** As `serializeResponse`, of a list. One that weighs more than its route says is answered all the same, and logged as a fault. */
export async function serializeListResponse(
  { log }: Pick<Deps, 'log'>,
  route: Route,
  answer: unknown,
  url: string,
): Promise<SerializedResponse> {
  const asLines = route.jsonLines && splitQuery(url).values.format === 'lines'
  const body = asLines
    ? await serializeLines(route.reply!, answer as unknown[])
    : await serializeList(route.reply!, answer)
  const { rows, rowBytes } = route.list!
  if (body.length > rows * rowBytes)
    log.error({ operationId: route.operationId, bytes: body.length }, 'a list weighs more than its route says')
  return { links: linkHeader(answer, url), body, ...(asLines && { contentType: LINES }) }
}

/** One project, with what is in it. */
export const projectTopics: CacheTopics = (_, project) => [`project ${(project as Row<'project'>).id}`]
/** The list of projects of the account. */
export const projectListTopics: CacheTopics = ({ account }) => [`projects ${account.id}`]

/** Longer ones would take the place of many. */
const LONGEST = 256 * 1024
/** Shorter ones are not packed: little would be won. */
const WORTH_PACKING = 8 * 1024

type CacheLookup = { cache: Cache | undefined; route: Route; caller: Caller | undefined; url: string }

/** The answer that this caller would be given again at this address; undefined: it is to be made. */
export function getCachedResponse({ cache, route, caller, url }: CacheLookup): SerializedResponse | undefined {
  if (cache === undefined || caller === undefined || route.cache === undefined || !isCachedCaller(caller))
    return undefined
  return cache.get(cacheKey(caller, url)) as SerializedResponse | undefined
}

/** `clear`: it may hold a value in clear. */
type BuildResponse = () => Promise<{ written: SerializedResponse; subject: unknown; clear: boolean }>

const knownOf = new WeakMap<Deps['db'], VersionedCache<SerializedResponse>>()

/** The answer for this caller and address, which is made when the state is another one than that of the answer that is known. */
export async function getOrBuildResponse(
  { db }: Deps,
  { caller, url, state }: { caller: Caller; url: string; state: string },
  make: BuildResponse,
): Promise<SerializedResponse> {
  const known = knownOf.getOrInsertComputed(db, () => createVersionedCache())
  const key = [caller.actor.tokenId ?? caller.userId, caller.role, ...caller.permissions, url].join(' ')
  const previous = known.get(caller.account.id, key, state)
  if (previous !== undefined) return previous
  const { written, clear } = await make()
  if (!clear) known.set(caller.account.id, key, state, written)
  return written
}

/** Makes an answer and remembers it, unless something in it changed meanwhile or it may hold a value in clear. */
export async function buildAndCacheResponse(
  { cache, route, caller, url }: CacheLookup,
  make: BuildResponse,
): Promise<SerializedResponse> {
  const since = cache?.version() ?? 0
  const { written, subject, clear } = await make()
  const { body } = written
  if (cache === undefined || caller === undefined || route.cache === undefined) return written
  if (clear || !isCachedCaller(caller) || body === undefined || body.length > LONGEST) return written
  // As bytes of its own: text would be made into bytes anew for everybody who asks, and a part of a larger buffer would keep all of it.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(body))
  if (typeof body === 'string') bytes.write(body)
  else bytes.set(body)
  const value: SerializedResponse = { ...written, body: bytes }
  const topics = [...callerTopics(caller), ...route.cache(caller, subject)]
  const remembered = { value, bytes: bytes.length, owner: caller.account.id, topics }
  cache.set(
    cacheKey(caller, url),
    since,
    bytes.length < WORTH_PACKING ? remembered : { ...remembered, compress: compressResponse },
  )
  return value
}

/** An answer whose body is compressed: a list becomes less than a tenth of it in 0.1 ms, and making it anew takes milliseconds. */
function compressResponse(answer: unknown): CompressedValue {
  const { body, ...rest } = answer as SerializedResponse
  const packed = zstdCompressSync(body!, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  // As bytes of its own, as above.
  const kept = Buffer.allocUnsafeSlow(packed.length)
  kept.set(packed)
  return { bytes: kept.length, unpack: () => ({ ...rest, body: zstdDecompressSync(kept) }) }
}

/** Who acts is one object for as long as it is remembered. What another one was answered is not found. */
function cacheKey(caller: Caller, url: string): string {
  let name = names.get(caller)
  if (name === undefined) {
    name = `${++lastName}`
    names.set(caller, name)
  }
  return `${name} ${url}`
}
const names = new WeakMap<Caller, string>()
let lastName = 0
