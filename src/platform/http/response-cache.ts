/** Serialized responses, and the cache of those that depend on known topics. docs/architecture.md: Caching. */
import type { Readable } from 'node:stream'
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

export type SerializedResponse = {
  links: string | undefined
  /** If it differs from the route's. */
  contentType?: string
  body: string | Buffer | undefined
  /** In place of `body`: sent as it comes. */
  stream?: Readable
  /** Of a stored response: the route may have changed since. */
  status?: number
  headers?: Record<string, string>
}

/** Serializes a result by the schema of its route. `url`: as the caller sent it. */
export function serializeResponse(route: Route, answer: unknown, url: string): SerializedResponse {
  const links = linkHeader(answer, url)
  if (route.textReply) return { links, body: answer as string }
  if (route.jsonLines) return { links, body: `${serialize(route.reply!, answer)}\n`, contentType: LINES }
  const headers = route.replyHeaders?.(answer)
  return { links, body: route.reply && serialize(route.reply, answer), ...(headers && { headers }) }
}

const LINES = 'application/stream+json'

/** As `serializeResponse`, for a list. One larger than its route declares is sent and logged as an error. */
export async function serializeListResponse(
  { log }: Pick<Deps, 'log'>,
  route: Route,
  answer: unknown,
  url: string,
): Promise<SerializedResponse> {
  const asLines = route.jsonLines === 'always' || (route.jsonLines && splitQuery(url).values.format === 'lines')
  const body = asLines
    ? await serializeLines(route.reply!, answer as unknown[])
    : await serializeList(route.reply!, answer)
  const { rows, rowBytes } = route.list!
  if (body.length > rows * rowBytes)
    log.error({ operationId: route.operationId, bytes: body.length }, 'a list is larger than its route declares')
  return { links: linkHeader(answer, url), body, ...(asLines && { contentType: LINES }) }
}

export const projectTopics: CacheTopics = (_, project) => [`project ${(project as Row<'project'>).id}`]
export const projectListTopics: CacheTopics = ({ account }) => [`projects ${account.id}`]

/** Longer responses would evict many others. */
const LONGEST = 256 * 1024
/** Shorter responses are not worth compressing. */
const WORTH_PACKING = 8 * 1024

type CacheLookup = { cache: Cache | undefined; route: Route; caller: Caller | undefined; url: string }

/** Returns the cached response for this caller and URL; undefined if it must be built. */
export function getCachedResponse({ cache, route, caller, url }: CacheLookup): SerializedResponse | undefined {
  if (cache === undefined || caller === undefined || route.cache === undefined || !isCachedCaller(caller))
    return undefined
  return cache.get(cacheKey(caller, url)) as SerializedResponse | undefined
}

/** `clear`: it may contain plaintext secrets. */
type BuildResponse = () => Promise<{ written: SerializedResponse; resource: unknown; clear: boolean }>

const knownOf = new WeakMap<Deps['db'], VersionedCache<SerializedResponse>>()

/** Returns the cached response while its version matches. Otherwise builds and caches a new one. */
export async function getOrBuildResponse(
  { db }: Deps,
  { caller, url, version }: { caller: Caller; url: string; version: string },
  make: BuildResponse,
): Promise<SerializedResponse> {
  const versioned = knownOf.getOrInsertComputed(db, () => createVersionedCache())
  const key = [caller.actor.tokenId ?? caller.userId, caller.role, ...caller.permissions, url].join(' ')
  const previous = versioned.get(caller.account.id, key, version)
  if (previous !== undefined) return previous
  const { written, clear } = await make()
  if (!clear) versioned.set(caller.account.id, key, version, written)
  return written
}

/** Builds a response. Caches it unless its data changed meanwhile or it may contain plaintext secrets. */
export async function buildAndCacheResponse(
  { cache, route, caller, url }: CacheLookup,
  make: BuildResponse,
): Promise<SerializedResponse> {
  const since = cache?.version() ?? 0
  const { written, resource, clear } = await make()
  const { body } = written
  if (cache === undefined || caller === undefined || route.cache === undefined) return written
  if (clear || !isCachedCaller(caller) || body === undefined || body.length > LONGEST) return written
  // A buffer of its own: text would be encoded again for each response, and a slice would retain its larger buffer.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(body))
  if (typeof body === 'string') bytes.write(body)
  else bytes.set(body)
  const value: SerializedResponse = { ...written, body: bytes }
  const topics = [...callerTopics(caller), ...route.cache(caller, resource)]
  const remembered = { value, bytes: bytes.length, owner: caller.account.id, topics }
  cache.set(
    cacheKey(caller, url),
    since,
    bytes.length < WORTH_PACKING ? remembered : { ...remembered, compress: compressResponse },
  )
  return value
}

/** Compresses a response: a list shrinks to less than a tenth in 0.1 ms, and building it again takes milliseconds. */
function compressResponse(answer: unknown): CompressedValue {
  const { body, ...rest } = answer as SerializedResponse
  const compressed = zstdCompressSync(body!, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  // A buffer of its own, as above.
  const copy = Buffer.allocUnsafeSlow(compressed.length)
  copy.set(compressed)
  return { bytes: copy.length, decompress: () => ({ ...rest, body: zstdDecompressSync(copy) }) }
}

/** A cached caller is one object, so its identity separates the responses of callers. */
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
