/** Plans the response for a static file as a pure function of request, file and rules. docs/deploying-sites.md: Static files. */
import type { StaticFile } from '../../delivery/protocol/routing-manifest.ts'
import type { Routed } from '../router/decision.ts'
import { responseHeaders } from '../router/response-headers.ts'
import { checkPreconditions, type RequestHeaders, rangeApplies } from './conditional.ts'
import { acceptedEncodings, canEncode, type EncodedForm, type Encoding } from './encodings.ts'
import { type Slice, sliceOf } from './ranges.ts'

export type StaticRequest = { method: string; headers: RequestHeaders }

/**
 * A file that the router chose. `status`: 200, or that of the error or rule whose page it is. `lastModified` in ms, if a date
 * follows the content (`Validators` of conditional.ts). `forms`: stored encoded forms.
 */
export type StaticEntry = StaticFile & { status: number; lastModified?: number; forms: readonly EncodedForm[] }

export type RuleHeaders = Pick<Routed, 'headers' | 'cookies' | 'responseTransforms'>
type Headers = Record<string, string | string[]>

/** Bytes of a form of the file, or a message. `slice.length` may be 0. */
type PlannedBody =
  | { kind: 'none' }
  | { kind: 'text'; text: string }
  | { kind: 'file'; encoding: Encoding | undefined; slice: Slice }

/** `wanted`: the preferred form that is not stored yet. */
export type ResponsePlan = { status: number; headers: Headers; body: PlannedBody; wanted?: Encoding }

/** Visitors may cache but must revalidate: a host may point to another deployment at any time. */
const CACHE_CONTROL = 'public, max-age=0, must-revalidate'
/** TABLE headers derived from the bytes, which rules cannot set. */
const OF_THE_BYTES = ['accept-ranges', 'content-length', 'content-range', 'etag']
/** TABLE headers that describe the body and are dropped with it. */
const OF_THE_BODY = ['content-disposition', 'content-encoding', 'content-language', 'content-type']
/** Statuses without a body (RFC 9110 15.3.5, 15.3.6, 15.4.5). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/**
 * Plans the response. A file allows GET and HEAD, otherwise 405. The page of another status serves every method, complete and
 * without conditions. RFC 9110 13.2.2 defines the order: preconditions, then the range.
 */
export function planResponse(request: StaticRequest, entry: StaticEntry, rules: RuleHeaders): ResponsePlan {
  const headers = headersOf(entry, rules)
  const accepted = isEncodable(entry, headers) ? acceptedEncodings(request.headers.get('accept-encoding')) : []
  if (entry.status !== 200) return planWhole(request, entry, headers, accepted)
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return refusal(request, headers, 405, 'This path answers GET and HEAD only.', { allow: 'GET, HEAD' })
  const slice = requestedSlice(request, entry)
  const isPlain = slice !== 'full' || request.headers.has('if-match')
  const offered = isPlain ? [] : accepted
  const preconditions = checkPreconditions(request.headers, {
    tags: tagsOf(entry, offered, accepted),
    lastModified: entry.lastModified,
  })
  if (preconditions.outcome === 'failed')
    return refusal(request, headers, 412, 'The file is not the one that the request names. Request it again.', {})
  if (preconditions.outcome === 'not_modified')
    return { status: 304, headers: { ...withoutBody(headers), etag: preconditions.tag }, body: { kind: 'none' } }
  if (slice === 'unsatisfiable')
    return refusal(
      request,
      headers,
      416,
      `The range begins behind the end of the file, which has ${entry.size} bytes.`,
      {
        'content-range': `bytes */${entry.size}`,
      },
    )
  return slice === 'full' ? planWhole(request, entry, headers, offered) : planPart(entry, headers, slice)
}

/** The router caches a decision by its path, and each selects one file, so its headers are built once. */
const MADE = new WeakMap<RuleHeaders, { entry: StaticEntry; headers: Headers }>()

/** Headers of every response with the file: rules over the file's own. Read-only. */
function headersOf(entry: StaticEntry, rules: RuleHeaders): Headers {
  const made = MADE.get(rules)
  if (made !== undefined && isSameFile(made.entry, entry)) return made.headers
  const headers = createHeaders(entry, rules)
  MADE.set(rules, { entry, headers })
  return headers
}

function isSameFile(a: StaticEntry, b: StaticEntry): boolean {
  return (['path', 'contentType', 'size', 'lastModified'] as const).every((name) => a[name] === b[name])
}

function createHeaders(entry: StaticEntry, rules: RuleHeaders): Headers {
  const name = encodeURIComponent(entry.path.slice(entry.path.lastIndexOf('/') + 1).toWellFormed())
  const own = {
    'cache-control': CACHE_CONTROL,
    'content-type': entry.contentType,
    ...(name !== '' && { 'content-disposition': `inline; filename="${name}"` }),
    ...(entry.lastModified !== undefined && { 'last-modified': new Date(entry.lastModified).toUTCString() }),
  }
  const merged = responseHeaders(
    rules,
    Object.entries(own).map(([name, value]) => ({ name, value })),
  )
  const headers: Headers = Object.fromEntries(merged.map(({ name, value }) => [name, value]))
  for (const name of OF_THE_BYTES) delete headers[name]
  if (rules.cookies.length > 0) headers['set-cookie'] = [headers['set-cookie'] ?? [], rules.cookies].flat()
  if (isEncodable(entry, headers)) headers.vary = withMember(String(headers.vary ?? ''), 'accept-encoding')
  return { ...headers, 'accept-ranges': 'bytes' }
}

function isEncodable({ size }: StaticEntry, headers: Headers): boolean {
  return headers['content-encoding'] === undefined && canEncode(String(headers['content-type'] ?? ''), size)
}

function withMember(list: string, member: string): string {
  const members = list.split(',').map((member) => member.trim().toLowerCase())
  if (members.includes(member) || members.includes('*')) return list
  return list === '' ? member : `${list}, ${member}`
}

/** The range of a GET; other methods have none (RFC 9110 14.2). It counts bytes of the plain form. */
function requestedSlice({ method, headers }: StaticRequest, entry: StaticEntry): ReturnType<typeof sliceOf> {
  const applies = method === 'GET' && rangeApplies(headers.get('if-range'), tagOf(entry), entry.lastModified)
  return applies ? sliceOf(headers.get('range'), entry.size) : 'full'
}

/** The digest. An encoded form has its own weak tag, because two servers may encode a file differently. */
function tagOf({ digest }: StaticFile, encoding?: Encoding): string {
  return encoding === undefined ? `"${digest}"` : `W/"${digest}-${encoding}"`
}

/** The tags of every accepted form: a visitor with any of them has a valid copy. That of the form to send comes first. */
function tagsOf(entry: StaticEntry, offered: readonly Encoding[], accepted: readonly Encoding[]): string[] {
  const tags = [undefined, ...accepted].map((encoding) => tagOf(entry, encoding))
  return [tagOf(entry, readyForm(entry, offered)?.encoding), ...tags]
}

function readyForm({ forms }: StaticEntry, offered: readonly Encoding[]): EncodedForm | undefined {
  return offered.map((encoding) => forms.find((form) => form.encoding === encoding)).find((form) => form !== undefined)
}

function planWhole(
  { method }: StaticRequest,
  entry: StaticEntry,
  headers: Headers,
  offered: readonly Encoding[],
): ResponsePlan {
  if (WITHOUT_BODY.has(entry.status))
    return { status: entry.status, headers: withoutBody(headers), body: { kind: 'none' } }
  const form = readyForm(entry, offered)
  const { size, encoding } = form ?? { size: entry.size, encoding: undefined }
  const whole: Headers = { ...headers, etag: tagOf(entry, encoding), 'content-length': String(size) }
  if (encoding !== undefined) Object.assign(whole, { 'content-encoding': encoding })
  if (method === 'HEAD') return { status: entry.status, headers: whole, body: { kind: 'none' } }
  const body = { kind: 'file' as const, encoding, slice: { first: 0, length: size } }
  const wanted = form === undefined ? offered[0] : undefined
  return { status: entry.status, headers: whole, body, ...(wanted && { wanted }) }
}

function planPart(entry: StaticEntry, headers: Headers, slice: Slice): ResponsePlan {
  const { first, length } = slice
  return {
    status: 206,
    headers: {
      ...headers,
      etag: tagOf(entry),
      'content-length': String(length),
      'content-range': `bytes ${first}-${first + length - 1}/${entry.size}`,
    },
    body: { kind: 'file', encoding: undefined, slice },
  }
}

function withoutBody(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_BODY.includes(name)))
}

/** A message in place of the file. It keeps headers such as CORS, but none that would allow caching. */
function refusal(
  { method }: StaticRequest,
  headers: Headers,
  status: number,
  sentence: string,
  added: Headers,
): ResponsePlan {
  const text = `${sentence}\n`
  return {
    status,
    headers: {
      ...withoutBody(headers),
      'cache-control': CACHE_CONTROL,
      'content-type': 'text/plain; charset=utf-8',
      'content-length': String(Buffer.byteLength(text)),
      ...added,
    },
    body: method === 'HEAD' ? { kind: 'none' } : { kind: 'text', text },
  }
}
