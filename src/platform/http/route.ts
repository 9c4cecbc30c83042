/** A route is data: what is asked, what it needs, what may refuse it, which operation answers, what may leave. */
import type { Static, TSchema } from 'typebox'
import type { Ctx, Guard, Input, OperatorCtx, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import type { EventName } from '../../events.ts'
import { READERS } from '../../readers.ts'
import type { Caller } from '../access/who.ts'
import type { Topic } from '../db/change-feed.ts'
import type { Permission } from '../permissions/roles.ts'

/** The largest body of a request in bytes. That of an OAuth client is read before the client is known. */
export function bodyLimitOf({ bodyLimit, auth }: Pick<Route, 'bodyLimit' | 'auth'>): number {
  return bodyLimit ?? (auth === 'client' ? READERS['JSON of a client'] : READERS['JSON body']).bytes
}

/** What a cached answer of a route follows from, besides who acts: nothing else that changes may be in it. `subject`: what the route loaded. docs/architecture.md. */
export type CacheTopics = (caller: Caller, subject: unknown) => Topic[]

type Spec<C, Q extends TSchema, B extends TSchema, R extends TSchema, S, A> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The specification's path. Public operations also answer at any other `/v1` to `/v13`, without a version, and with `now` after it. */
  path: string
  operationId: string
  summary: string
  tag: string
  /** Permissions, all of them: 403. */
  needs?: readonly Permission[]
  query?: Q
  body?: B
  /** What clients send that Berth passes over, and why that is well: docs/clients.md tells it from here. */
  ignores?: { query?: Record<string, string>; body?: Record<string, string> }
  /** The body is plain text rather than JSON; `run` gets it whole, as a string. */
  textBody?: true
  /** The body is JSON whatever its type says: a client of the path sends it as text. */
  anyTypeBody?: true
  /** The body is a form (`application/x-www-form-urlencoded`), or the same as JSON. */
  formBody?: true
  /** The largest body in bytes; 64 KiB by default. */
  bodyLimit?: number
  /** The field of the body that is a very long list, so that the body is read in pieces: list-body.ts. */
  listBody?: string
  /** It may take minutes: it waits for a turn of its own, so that nothing else of the account waits for it. docs/limits.md: Uploads. */
  slow?: true
  /**
   * Clients send it again when no answer came. Of equal requests of one token within `ms` the first is done, and its answer is given to all. `may`: whether
   * this request is one of those.
   */
  repeats?: { ms: number; may: (input: Input<Static<Q>, Static<B>>) => boolean }
  /**
   * The body is a file, which `prepare` reads as it comes: in a turn of its own, with a least speed in the place of a time, and named by no entry of
   * the audit log. The headers that say more of it, each with its meaning. docs/limits.md: Uploads.
   */
  fileBody?: Readonly<Record<string, string>>
  /** The subject, looked up inside the account. */
  load?: (ctx: C, params: Params) => Promise<S>
  guards?: readonly Guard<C, S>[]
  /** Slow work outside the database (DNS, a password hash, sealing many values), before the transaction; its answer is handed to `run`. */
  prepare?: (ctx: C, subject: S, input: Input<Static<Q>, Static<B>>) => Promise<A>
  /** Takes back what `prepare` did outside, when the transaction did not stand. */
  undo?: (ctx: C, prepared: A) => Promise<void>
  run: (ctx: C, subject: S, input: Input<Static<Q>, Static<B>>, prepared: A) => Promise<Static<R>> | Static<R>
  /** It ends access of people: tokens, places in teams. platform/access/user-write-lock.ts. */
  revokesAccess?: true
  emits?: readonly EventName[]
  /** What `load` and `run` refuse with, beyond what the guards and every route do. */
  refuses?: readonly RefusalKey[]
  /** The timer that has work as soon as this is committed: it does not wait for its period. */
  triggers?: string
  /**
   * What the answer follows from besides the caller: a text that is another one after every change of it, read in this request. Undefined
   * where that is not known. The answer is given again while it is the same.
   */
  cacheVersion?: (ctx: C, input: Input<Static<Q>, Static<B>>) => Promise<string | undefined>
  /** A GET of a project (`idOrName`) and its variables: both are read together with who acts, on PostgreSQL. */
  prefetch?: true
  /** A GET that is asked often, and whose answer follows from caller, address and these subjects alone: given again until one of them changes. */
  cache?: CacheTopics
  status: number
  /** What may leave; anything undeclared is dropped. Without it the answer has no body. */
  reply?: R
  /**
   * Lines of JSON (`application/stream+json`): each row of a list when the query says `format=lines`, and always an answer that is
   * no list. Clients read such an answer as a stream that ends.
   */
  jsonLines?: true
  /** A list: its most rows, and what one weighs at most, in bytes. What is in the store is bounded so that it holds. docs/limits.md. */
  list?: { rows: number; rowBytes: number }
  /** The answer is plain text rather than JSON; `run` gives a string. */
  textReply?: true
  /** The answer holds a secret: no cache keeps it. */
  noStore?: true
  /** A field of the body that is not known may be one that was to narrow what is made, so the answer names it, as that of a PATCH does. */
  namesIgnored?: true
  /** Headers of the answer, from what `run` gave. */
  replyHeaders?(answer: Static<R>): Record<string, string>
}

type Method = Spec<unknown, TSchema, TSchema, TSchema, unknown, unknown>['method']

// biome-ignore-start lint/suspicious/noExplicitAny: a table of routes holds every combination; `route` checked each where it was written
/** Its method, path and reply are part of the type, so that the tests know what answers a call: test/support/call.ts. */
export type Route<M extends Method = Method, P extends string = string, R extends TSchema = any> = Spec<
  any,
  any,
  any,
  R,
  any,
  any
> & { auth: 'public' | 'operator' | 'client'; method: M; path: P }
// biome-ignore-end lint/suspicious/noExplicitAny: as above

/** A route of the public API: bearer token, `teamId`/`slug`, any version. */
export function route<
  M extends Method,
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  S = undefined,
  A = undefined,
>(spec: Spec<Ctx, Q, B, R, S, A> & { method: M; path: P }): Route<M, P, R> {
  return { ...(spec as Route<M, P, R>), auth: 'public' }
}

/** A route of the operator API: the operator token and nothing else. */
export function operatorRoute<
  M extends Method,
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  S = undefined,
  A = undefined,
>(spec: Spec<OperatorCtx, Q, B, R, S, A> & { method: M; path: P }): Route<M, P, R> {
  return { ...(spec as Route<M, P, R>), auth: 'operator' }
}

/** A route for apps, which prove themselves by their client secret: no bearer token, no account. */
export function clientRoute<
  M extends Method,
  P extends string,
  Q extends TSchema,
  B extends TSchema,
  R extends TSchema,
  S = undefined,
  A = undefined,
>(spec: Spec<OperatorCtx, Q, B, R, S, A> & { method: M; path: P }): Route<M, P, R> {
  return { ...(spec as Route<M, P, R>), auth: 'client' }
}

/** Whether a route lists: its answer is rows, or begins with them. What narrows it must be known to it (query.ts). */
export function isList({ method, reply }: Pick<Route, 'method' | 'reply'>): boolean {
  if (method !== 'GET' || reply === undefined) return false
  const first = Object.values((reply.properties ?? {}) as Record<string, { type?: string }>)[0]
  return reply.type === 'array' || first?.type === 'array'
}

const ALWAYS: readonly RefusalKey[] = ['bad_request', 'internal_server_error', 'unavailable']
const ON_AUTH: Record<Route['auth'], readonly RefusalKey[]> = {
  public: [
    'rate_limited',
    'missing_token',
    'invalid_token',
    'integration_configuration_disabled',
    'team_id_required',
    'team_forbidden',
    'second_factor_required',
  ],
  operator: ['operator_only', 'rate_limited'],
  client: ['rate_limited'],
}
const ON_WRITE: readonly RefusalKey[] = [
  'busy',
  'storage_full',
  'payload_too_large',
  'unsupported_media_type',
  'overloaded',
]
const ON_KEY: readonly RefusalKey[] = ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotency_keys_used_up']

/** Every refusal that this route may answer with. The OpenAPI document and the tests are made from it. */
export function refusalsOf(route: Route): RefusalKey[] {
  const keys = [
    ...ALWAYS,
    ...ON_AUTH[route.auth],
    ...(route.needs?.length ? (['missing_permission'] as const) : []),
    ...(route.method === 'GET' ? [] : ON_WRITE),
    ...(acceptsIdempotencyKey(route) ? ON_KEY : []),
    ...(route.guards ?? []).flatMap((guard) => guard.refuses),
    ...(route.refuses ?? []),
  ]
  return [...new Set(keys)]
}

/** Whether a route looks at `Idempotency-Key`. A PUT and a file may be sent again anyway, and a code that an app exchanges is used up. */
export function acceptsIdempotencyKey({
  auth,
  method,
  fileBody,
}: Pick<Route, 'auth' | 'method' | 'fileBody'>): boolean {
  return auth !== 'client' && fileBody === undefined && (method === 'POST' || method === 'PATCH' || method === 'DELETE')
}

/** `/v9/projects/:idOrName` -> `/projects/:idOrName`: the path that is routed once the version is off. */
export function unversionedPath(path: string): string {
  return path.replace(/^\/v\d+(?=\/)/, '')
}

/** The path at which a route is found. */
export function routedPath(route: Route): string {
  return route.auth === 'operator' ? route.path : unversionedPath(route.path)
}

/** What may stand before a path of the public API: a version that Berth answers at, and `now`, which older programs and some commands of the CLI write. */
const PREFIX = /^(?:\/v([1-9]|1[0-3]))?(?:\/now)?(?=\/)/

/** The version that a path begins with, when it is one that Berth answers at. */
export function versionOf(url: string): number | undefined {
  const version = PREFIX.exec(originForm(url))?.[1]
  return version === undefined ? undefined : Number(version)
}

/** Whether a version or `now` stands before a path. */
export function isPrefixed(url: string): boolean {
  return unversionedUrl(url) !== originForm(url)
}

/** The path as it is routed, without version and `now`. The operator API has the one version that is part of its path: what a proxy shuts there stays shut. */
export function unversionedUrl(url: string): string {
  const path = originForm(url)
  const bare = path.replace(PREFIX, '')
  // Nothing is at `/v9/`: the page at the root has no version.
  return bare.startsWith('/operator/') || /^\/(\?|$)/.test(bare) ? path : bare
}

/** `http://host/path`, as some proxies ask (RFC 9112, 3.2.2), is `/path`. Without a host it stays as it is, and is refused (platform/server/strict-paths.ts). */
function originForm(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]+(?=\/)/i, '')
}
