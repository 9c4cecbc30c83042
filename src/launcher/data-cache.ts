/** What frameworks find of the data cache: the fetch cache of Next.js with its renewals, and that of `@vercel/functions`. docs/data-cache.md. */
import { createHash } from 'node:crypto'
import type { AskCache } from './cache-client.ts'
import { MAX_VALUE_BYTES } from './frames.ts'
import { currentContext } from './request-context.ts'

/** TABLE limits of a request, as the sites server has them. */
const MAX_TAGS = 200
const MAX_TAG = 1100
const PURGED_AT_ONCE = 128
/** Keys of a request whose numbers are known. What runs on behind its response may look for very many. */
const MAX_NUMBERS = 10_000

type Durations = { expire?: number } | undefined
type Tags = string | readonly string[]
/** `at`: ms since 1970. `number`: of the last purge that counts for what is made now. */
type Found = { value: unknown; at: number; isStale: boolean }

export type DataCache = {
  get(
    kind: string,
    key: string,
    tags: readonly string[],
  ): Promise<{ found: Found | undefined; number: number | undefined }>
  set(
    kind: string,
    key: string,
    value: unknown,
    more: { tags: Tags; number?: number | undefined; ttl?: number | undefined },
  ): Promise<void>
  delete(kind: string, key: string): Promise<void>
  purge(tags: Tags, kind: 'stale' | 'gone'): Promise<void>
  number(): Promise<number | undefined>
}

/** Creates the cache of this process's project and environment. `log`: what the owner of the function should know. */
export function createDataCache(ask: AskCache, log: (text: string) => void): DataCache {
  return {
    async get(kind, key, tags) {
      const answer = await ask({ op: 'get', key: nameOf(kind, key), tags: listOf(tags) })
      const { found, at, stale, number } = answer?.head ?? {}
      const value = found === true ? parsed(answer!.body) : undefined
      return {
        found: value === undefined ? undefined : { value, at: Number(at), isStale: stale === true },
        number: numberOf(number),
      }
    },
    async set(kind, key, value, { tags, ...more }) {
      const body = Buffer.from(JSON.stringify(value) ?? 'null')
      if (body.length > MAX_VALUE_BYTES)
        return log(`A value of ${body.length} bytes is not cached: it may have ${MAX_VALUE_BYTES}.`)
      await ask({ op: 'set', key: nameOf(kind, key), tags: listOf(tags), ...more }, body)
    },
    async delete(kind, key) {
      await ask({ op: 'delete', key: nameOf(kind, key) })
    },
    async purge(tags, kind) {
      const all = listOf(tags, Number.POSITIVE_INFINITY)
      for (let from = 0; from < all.length; from += PURGED_AT_ONCE) {
        const answer = await ask({ op: 'purge', kind, tags: all.slice(from, from + PURGED_AT_ONCE) })
        if (answer?.head.ok !== true) throw new Error('The cache could not be purged now. Try again.')
      }
    },
    async number() {
      return numberOf((await ask({ op: 'number' }))?.head.number)
    },
  }
}

function nameOf(kind: string, key: string): string {
  return createHash('sha256').update(`${kind} ${key}`).digest('hex')
}

function listOf(tags: Tags | undefined, max = MAX_TAGS): string[] {
  const all = [tags ?? []].flat().filter((tag) => typeof tag === 'string' && tag !== '' && tag.length <= MAX_TAG)
  return [...new Set(all)].slice(0, max)
}

function numberOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) ? (value as number) : undefined
}

/** Notes the number that counted when a key was looked for: what is written under it is as old. */
function note(numbers: Map<string, number>, key: string, number: number | undefined): void {
  if (number === undefined) return
  numbers.delete(key)
  numbers.set(key, number)
  if (numbers.size > MAX_NUMBERS) for (const oldest of numbers.keys()) return void numbers.delete(oldest)
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

type RequestContext = { revalidatedTags?: string[]; _requestHeaders?: Record<string, unknown> }
type KeyContext = { kind?: string; kindHint?: string; fetchCache?: boolean; tags?: string[]; softTags?: string[] }

const NEXT = 'next'
const NEXT_HANDLERS = Symbol.for('@next/cache-handlers')
/** Older than every lifetime. */
const LONG_AGO = 1

/** Lets Next.js find the data cache: its class is created for each request. Entries of pages are not in it, which the sites server has. */
export function installFetchCache(cache: DataCache): void {
  class FetchCache {
    readonly #revalidated: readonly string[]
    readonly #numbers = new Map<string, number>()
    /** Of the begin of a request that reads nothing: what it writes is as old. */
    readonly #begun: Promise<number | undefined> | undefined

    constructor({ revalidatedTags = [], _requestHeaders = {} }: RequestContext) {
      this.#revalidated = revalidatedTags
      this.#begun = _requestHeaders['x-prerender-revalidate'] === undefined ? undefined : cache.number()
    }

    resetRequestCache(): void {}

    async get(key: string, { kind, kindHint, fetchCache, tags = [], softTags = [] }: KeyContext): Promise<unknown> {
      if (kind !== 'FETCH' && kindHint !== 'fetch' && fetchCache !== true) return null
      const all = [...tags, ...softTags]
      const { found, number } = await cache.get(NEXT, key, all)
      note(this.#numbers, key, number)
      if (found === undefined || all.some((tag) => this.#revalidated.includes(tag))) return null
      return { value: found.value, lastModified: found.isStale ? LONG_AGO : found.at }
    }

    async set(key: string, value: { kind?: string } | null, { fetchCache, tags = [] }: KeyContext): Promise<void> {
      if (!fetchCache || value?.kind !== 'FETCH') return
      const number = this.#numbers.get(key) ?? (await this.#begun)
      await cache.set(NEXT, key, value, { tags, number })
    }

    async revalidateTag(tags: Tags, durations?: Durations): Promise<void> {
      await cache.purge(tags, durations === undefined || durations.expire === 0 ? 'gone' : 'stale')
    }
  }
  const global = globalThis as unknown as Record<symbol, object | undefined>
  global[NEXT_HANDLERS] = { ...global[NEXT_HANDLERS], FetchCache }
}

const RENEWAL_TOKEN = 'x-prerender-revalidate'

/** Sends requests that renew a page of the own site to the sites server. By the network a function often cannot reach its own host. */
export function watchRenewals(ask: AskCache): void {
  const own = globalThis.fetch
  globalThis.fetch = async function fetch(input, init) {
    const page = init?.method === 'HEAD' ? renewalOf(String(input), new Headers(init.headers)) : undefined
    const answer = page && (await ask({ op: 'renew', ...page }))?.head
    if (typeof answer?.status !== 'number') return own(input, init)
    const headers = { 'x-vercel-cache': String(answer.cached ?? '') }
    return new Response(null, { status: answer.status, headers })
  }
}

/** Undefined: it is another request. Next.js writes `https`, also where the site is shown by `http`: its visitors have the scheme of their request. */
function renewalOf(address: string, headers: Headers): object | undefined {
  const { headers: asked } = currentContext() ?? {}
  if (asked?.host === undefined || !headers.has(RENEWAL_TOKEN) || !URL.canParse(address)) return undefined
  const { host, pathname, search } = new URL(address)
  if (host !== asked.host.toLowerCase()) return undefined
  const isSecure = asked['x-forwarded-proto'] !== 'http'
  return { host, path: pathname + search, isSecure, headers: Object.fromEntries(headers) }
}

const RUNTIME = 'runtime'
const numbersOf = new WeakMap<object, Map<string, number>>()

/** A module may keep the cache of its first request, so what runs says whose numbers count. */
function numbersNow(): Map<string, number> {
  const context = currentContext()
  const numbers = (context && numbersOf.get(context)) ?? new Map<string, number>()
  if (context !== undefined) numbersOf.set(context, numbers)
  return numbers
}

/** What `getCache` and the purges of `@vercel/functions` find in the context of a request. */
export function runtimeCacheOf(cache: DataCache) {
  return {
    cache: {
      async get(key: string) {
        const { found, number } = await cache.get(RUNTIME, key, [])
        note(numbersNow(), key, number)
        return found === undefined || found.isStale ? null : found.value
      },
      set: (key: string, value: unknown, { tags = [], ttl }: { tags?: string[]; ttl?: number } = {}) =>
        cache.set(RUNTIME, key, value, { tags, ttl, number: numbersNow().get(key) }),
      delete: (key: string) => cache.delete(RUNTIME, key),
      expireTag: (tag: Tags) => cache.purge(tag, 'gone'),
    },
    purge: {
      invalidateByTag: (tag: Tags) => cache.purge(tag, 'stale'),
      dangerouslyDeleteByTag: (tag: Tags, { revalidationDeadlineSeconds = 0 } = {}) =>
        cache.purge(tag, revalidationDeadlineSeconds > 0 ? 'stale' : 'gone'),
      invalidateBySrcImage: noPictures,
      dangerouslyDeleteBySrcImage: noPictures,
    },
  }
}

async function noPictures(): Promise<never> {
  throw new Error('Pictures are not purged by their source. Change the address of the picture.')
}
