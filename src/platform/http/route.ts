/** A route as data: request, permissions, guards, operation and response. */
import type { Static, TSchema } from 'typebox'
import type { Ctx, Deps, Guard, Input, OperatorCtx, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import type { EventName } from '../../events.ts'
import { READERS } from '../../readers.ts'
import type { Caller } from '../access/who.ts'
import type { Topic } from '../db/change-feed.ts'
import type { Permission } from '../permissions/roles.ts'

/** Returns the largest body of a route in bytes. The body of an OAuth client is read before the client is authenticated. */
export function bodyLimitOf({ bodyLimit, auth }: Pick<Route, 'bodyLimit' | 'auth'>): number {
  return bodyLimit ?? (auth === 'client' ? READERS['JSON of a client'] : READERS['JSON body']).bytes
}

/** Topics of a cached response in addition to those of the caller. `resource`: the loaded resource. docs/architecture.md. */
export type CacheTopics = (caller: Caller, resource: unknown) => Topic[]

type Spec<C, Q extends TSchema, B extends TSchema, R extends TSchema, S, A> = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path of the specification. Public operations also match any `/v1` to `/v13`, no version, and `now` after it. */
  path: string
  operationId: string
  summary: string
  tag: string
  needs?: readonly Permission[]
  query?: Q
  body?: B
  /** Ignored parameters that clients send, and why that is safe. docs/clients.md lists them. */
  ignores?: { query?: Record<string, string>; body?: Record<string, string> }
  /** It changes nothing and leaves no audit entry, although its method is POST. */
  reads?: true
  /** The body is plain text; `run` gets it as a string. */
  textBody?: true
  /** The body is JSON with any content type, because a client of the path sends it as text. */
  anyTypeBody?: true
  /** The body is a form (`application/x-www-form-urlencoded`) or equivalent JSON. */
  formBody?: true
  /** Largest body in bytes; 64 KiB by default. */
  bodyLimit?: number
  /** The field with a very long list, parsed in pieces: list-body.ts. */
  listBody?: string
  /** The request may take minutes, so it waits in a queue of its own. docs/limits.md: Uploads. */
  slow?: true
  /**
   * Clients repeat the request on a timeout. Equal requests of one token within `ms` run once and share the response. `may`: whether this request is
   * one of them.
   */
  repeats?: { ms: number; may: (input: Input<Static<Q>, Static<B>>) => boolean }
  /**
   * The body is a file, streamed by `prepare`: with its own queue, a minimum speed instead of a timeout, and no audit entry. Its metadata headers,
   * each with its meaning. docs/limits.md: Uploads.
   */
  fileBody?: Readonly<Record<string, string>>
  /** Loads the resource, within the account. */
  load?: (ctx: C, params: Params) => Promise<S>
  guards?: readonly Guard<C, S>[]
  /** Slow work before the transaction (DNS, password hashes, encryption). Its result is passed to `run`. */
  prepare?: (ctx: C, resource: S, input: Input<Static<Q>, Static<B>>) => Promise<A>
  /** Undoes external effects of `prepare` if the transaction failed. */
  undo?: (ctx: C, prepared: A) => Promise<void>
  run: (ctx: C, resource: S, input: Input<Static<Q>, Static<B>>, prepared: A) => Promise<Static<R>> | Static<R>
  /** The route revokes access of users: tokens, memberships. platform/access/user-write-lock.ts. */
  revokesAccess?: true
  emits?: readonly EventName[]
  /** Type of the audit entry, where an answer is of something else than the operation: a dry run changes nothing. Null: none. */
  auditAs?(answer: Static<R>): string | null | undefined
  /** Errors of `load` and `run`, in addition to those of guards and every route. */
  refuses?: readonly RefusalKey[]
  /** The timer to run right after the commit. */
  triggers?: string
  /** Runners that wait for a build look for one right after the commit. */
  queuesBuilds?: true
  /** Returns the version of the response's data, read in this request; undefined if unknown. A response is cached while its version is the same. */
  cacheVersion?: (ctx: C, input: Input<Static<Q>, Static<B>>) => Promise<string | undefined>
  /** A GET of a project (`idOrName`) that reads it and its variables together with the caller on PostgreSQL. */
  prefetch?: true
  /** Topics of a cached GET. The response must depend only on them, the caller and the URL. */
  cache?: CacheTopics
  status: number
  /**
   * Returns the lines of a stream, which is sent as they come and outside of any gate; undefined for a request that `run` answers. It
   * uses no connection of the request.
   */
  follow?: (deps: Deps, resource: S, input: Input<Static<Q>, Static<B>>) => AsyncIterable<string> | undefined
  /** Response schema; undeclared fields are dropped. Without it the response has no body. */
  reply?: R
  /**
   * Lines of JSON (`application/stream+json`): the rows of a list with `format=lines`, or of every one (`always`), and every response that is not a
   * list. Clients read it as a stream.
   */
  jsonLines?: true | 'always'
  /** Most rows of a list, and the largest row in bytes. Limits on stored data guarantee both. docs/limits.md. */
  list?: { rows: number; rowBytes: number }
  /** The response is plain text; `run` returns a string. */
  textReply?: true
  /** The response contains a secret and must not be cached. */
  noStore?: true
  /** An unknown field may have been meant to restrict the new object, so the response names it, as a PATCH does. */
  namesIgnored?: true
  /** Returns response headers from the result of `run`. */
  replyHeaders?(answer: Static<R>): Record<string, string>
}

type Method = Spec<unknown, TSchema, TSchema, TSchema, unknown, unknown>['method']

// biome-ignore-start lint/suspicious/noExplicitAny: a table of routes holds every combination; `route` checked each where it was written
/** Method, path and reply are part of the type, so that tests have typed responses: test/support/call.ts. */
export type Route<M extends Method = Method, P extends string = string, R extends TSchema = any> = Spec<
  any,
  any,
  any,
  R,
  any,
  any
> & { auth: 'public' | 'operator' | 'client'; method: M; path: P }
// biome-ignore-end lint/suspicious/noExplicitAny: as above

function declareFor<C>(auth: Route['auth']) {
  return <
    M extends Method,
    P extends string,
    Q extends TSchema,
    B extends TSchema,
    R extends TSchema,
    S = undefined,
    A = undefined,
  >(
    spec: Spec<C, Q, B, R, S, A> & { method: M; path: P },
  ): Route<M, P, R> => ({ ...(spec as Route<M, P, R>), auth })
}

/** Declares a route of the public API: bearer token, `teamId`/`slug`, any version. */
export const route = declareFor<Ctx>('public')

/** Declares a route of the operator API: operator token only. */
export const operatorRoute = declareFor<OperatorCtx>('operator')

/** Declares a route for apps, authenticated by client secret: no bearer token, no account. */
export const clientRoute = declareFor<OperatorCtx>('client')

/** Whether the reply of a route is a list or begins with one. Its filters must be declared (query.ts). */
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
const ON_WRITE: readonly RefusalKey[] = ['busy', 'storage_full']
const ON_BODY: readonly RefusalKey[] = ['payload_too_large', 'unsupported_media_type', 'overloaded']
const ON_KEY: readonly RefusalKey[] = ['idempotency_key_reused', 'idempotency_key_in_use', 'idempotency_keys_used_up']

/** Returns every error of a route. The OpenAPI document and tests are generated from it. */
export function refusalsOf(route: Route): RefusalKey[] {
  const keys = [
    ...ALWAYS,
    ...ON_AUTH[route.auth],
    ...(route.needs?.length ? (['missing_permission'] as const) : []),
    ...(route.method === 'GET' || route.reads ? [] : ON_WRITE),
    ...(route.method === 'GET' ? [] : ON_BODY),
    ...(acceptsIdempotencyKey(route) ? ON_KEY : []),
    ...(route.guards ?? []).flatMap((guard) => guard.refuses),
    ...(route.refuses ?? []),
  ]
  return [...new Set(keys)]
}

/** Whether a route supports `Idempotency-Key`. A PUT and a file are repeatable anyway, and an exchanged code is single-use. */
export function acceptsIdempotencyKey({
  auth,
  method,
  fileBody,
  reads,
}: Pick<Route, 'auth' | 'method' | 'fileBody' | 'reads'>): boolean {
  if (reads) return false
  return auth !== 'client' && fileBody === undefined && (method === 'POST' || method === 'PATCH' || method === 'DELETE')
}

/** Removes the version: `/v9/projects/:idOrName` -> `/projects/:idOrName`. */
export function unversionedPath(path: string): string {
  return path.replace(/^\/v\d+(?=\/)/, '')
}

/** Returns the path in the router. */
export function routedPath(route: Route): string {
  return route.auth === 'operator' ? route.path : unversionedPath(route.path)
}

/** Prefix of a public path: a supported version, and `now`, which older programs and some CLI commands send. */
const PREFIX = /^(?:\/v([1-9]|1[0-3]))?(?:\/now)?(?=\/)/

/** Returns the supported version at the start of a path. */
export function versionOf(url: string): number | undefined {
  const version = PREFIX.exec(originForm(url))?.[1]
  return version === undefined ? undefined : Number(version)
}

/** Whether a path starts with a version or `now`. */
export function isPrefixed(url: string): boolean {
  return unversionedUrl(url) !== originForm(url)
}

/** Removes version and `now` from a URL. Operator paths keep their one version, so that a proxy can block them by prefix. */
export function unversionedUrl(url: string): string {
  const path = originForm(url)
  const bare = path.replace(PREFIX, '')
  // `/v9/` is not the root page.
  return bare.startsWith('/operator/') || /^\/(\?|$)/.test(bare) ? path : bare
}

/** Converts the absolute form `http://host/path` (RFC 9112 3.2.2) to `/path`. Without a host it stays and is refused (platform/server/strict-paths.ts). */
function originForm(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]+(?=\/)/i, '')
}
