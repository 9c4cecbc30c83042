/** Whether and for how long an answer of a function is kept as a page. docs/prerendering.md: Cacheable responses. */
import { MESSAGE_HEADERS } from '../../delivery/protocol/message-headers.ts'
import type { Header, Prerender } from '../../delivery/protocol/routing-manifest.ts'
import { CACHE_TAG_HEADER } from '../../launcher/protocol.ts'
import { browserCaching } from '../functions/invoke.ts'

/** `headers`: as the function sent them, in lower case. */
export type PageAnswer = { status: number; headers: Record<string, string | string[]>; body: Buffer }

/** In ms; undefined: for ever. `staleMs` counts from the same time, and is not less. */
export type Lifetime = { freshMs: number | undefined; staleMs: number | undefined }
/** `personal`: it may be meant for one visitor, so no other visitor gets it. */
export type Keeping = { kind: 'keep'; lifetime: Lifetime } | { kind: 'pass' } | { kind: 'personal' }

/** TABLE statuses that are kept. */
const KEPT: ReadonlySet<number> = new Set([200, 203, 301, 302, 303, 307, 308, 404, 410])
const MAX_SECONDS = 365 * 24 * 60 * 60
const MAX_HEADER_CHARACTERS = 16 * 1024
/** TABLE headers for caches of the platform. The first that is there counts (RFC 9213), and `Cache-Control` after them. */
const TARGETED = ['vercel-cdn-cache-control', 'cdn-cache-control']

/** Decides what becomes of an answer. */
export function keepingOf(answer: PageAnswer, prerender: Prerender): Keeping {
  const { directives, isTargeted, isForOne } = cachingOf(answer.headers)
  if (isForOne) return { kind: 'personal' }
  if (!isKept(answer)) return { kind: 'pass' }
  return { kind: 'keep', lifetime: lifetimeOf(directives, isTargeted, prerender) }
}

/** Returns how long the answer of an ordinary function is kept; undefined: it is not. Only what the function says counts. */
export function lifetimeOfAnswer(answer: Omit<PageAnswer, 'body'>): Lifetime | undefined {
  const { directives, isTargeted, isForOne } = cachingOf(answer.headers)
  if (isForOne || directives.has('no-cache') || !isKept(answer)) return undefined
  const seconds = freshOf(directives, isTargeted)
  if (seconds === undefined) return undefined
  const all = seconds + (secondsOf(directives.get('stale-while-revalidate')) ?? 0)
  return all === 0 ? undefined : { freshMs: seconds * 1000, staleMs: all * 1000 }
}

/** `directives`: those that count. `isForOne`: the answer may be meant for one visitor. */
function cachingOf(headers: PageAnswer['headers']) {
  const caching = textOf(headers['cache-control'])
  const targeted = TARGETED.map((name) => headers[name]).find((value) => value !== undefined)
  const directives = directivesOf(targeted === undefined ? caching : textOf(targeted))
  const isForOne = headers['set-cookie'] !== undefined || [directives, directivesOf(caching)].some(isPersonal)
  return { directives, isTargeted: targeted !== undefined, isForOne }
}

function isKept({ status, headers }: Omit<PageAnswer, 'body'>): boolean {
  const characters = keptHeaders(headers).reduce((sum, { name, value }) => sum + name.length + value.length, 0)
  return KEPT.has(status) && characters <= MAX_HEADER_CHARACTERS
}

function freshOf(directives: ReadonlyMap<string, string>, isTargeted: boolean): number | undefined {
  return secondsOf(directives.get('s-maxage')) ?? (isTargeted ? secondsOf(directives.get('max-age')) : undefined)
}

/** Returns how long the first page of an output counts. */
export function lifetimeOfFirst(prerender: Prerender): Lifetime {
  return lifetimeOf(new Map(), false, prerender)
}

function lifetimeOf(
  directives: ReadonlyMap<string, string>,
  isTargeted: boolean,
  { expiration, staleExpiration }: Prerender,
): Lifetime {
  const seconds = freshOf(directives, isTargeted) ?? (expiration === false ? undefined : expiration)
  if (seconds === undefined) return { freshMs: undefined, staleMs: undefined }
  const more = secondsOf(directives.get('stale-while-revalidate'))
  const stale = more === undefined ? staleExpiration : seconds + more
  return { freshMs: seconds * 1000, staleMs: stale === undefined ? undefined : Math.max(stale, seconds) * 1000 }
}

function secondsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Math.min(Number(text), MAX_SECONDS) : undefined
}

function isPersonal(directives: ReadonlyMap<string, string>): boolean {
  return directives.has('private') || directives.has('no-store')
}

function directivesOf(text: string): Map<string, string> {
  return new Map(
    text.split(',').map((part) => {
      const [name = '', value = ''] = part.trim().split('=', 2)
      return [name.toLowerCase(), value.replaceAll('"', '')]
    }),
  )
}

function textOf(value: string | string[] | undefined): string {
  return [value ?? ''].flat().join(', ')
}

/** TABLE headers with the tags of an answer. Visitors do not see them. */
const TAGS_HEADERS = ['x-next-cache-tags', CACHE_TAG_HEADER]
const MAX_TAGS = 128
const MAX_TAG = 256

/** Returns the tags of an answer. */
export function tagsOf(headers: PageAnswer['headers']): string[] {
  const tags = TAGS_HEADERS.flatMap((name) => textOf(headers[name]).split(','))
  const usable = tags.map((tag) => tag.trim()).filter((tag) => tag !== '' && tag.length <= MAX_TAG)
  return [...new Set(usable)].slice(0, MAX_TAGS)
}

/** TABLE headers that are of one answer, or for caches alone. */
const NOT_KEPT: ReadonlySet<string> = new Set([
  ...TARGETED,
  ...TAGS_HEADERS,
  'age',
  'cache-control',
  'connection',
  'date',
  'etag',
  'set-cookie',
  'x-matched-path',
  'x-vercel-cache',
  'x-vercel-id',
])

/** Returns the headers that visitors of the page get. */
export function keptHeaders(headers: PageAnswer['headers']): Header[] {
  const listed = directivesOf(textOf(headers.connection))
  const remaining = Object.entries(headers).flatMap(([name, value]) =>
    NOT_KEPT.has(name) || MESSAGE_HEADERS.has(name) || listed.has(name) ? [] : [{ name, value: textOf(value) }],
  )
  return [...remaining, { name: 'cache-control', value: browserCaching(headers['cache-control']) }]
}
