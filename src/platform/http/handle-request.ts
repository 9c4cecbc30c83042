/** The request lifecycle: authenticate, authorize, rate-limit, validate, execute, commit, respond. */

import type { Caller, Deps, IncomingFile, Input, OperatorCtx, Params } from '../../context.ts'
import type { Credentials } from '../access/authenticate.ts'
import { recordLastSeen } from '../access/last-seen.ts'
import { resolveNames } from '../access/names.ts'
import { serializeRevocations } from '../access/user-write-lock.ts'
import { endOfIteration } from '../base/event-loop.ts'
import type { Queries } from '../db/db.ts'
import { type Gates, isBulk, type LongBody, runWhenAdmitted, runWithBody } from '../fairness/gate.ts'
import { openStream } from '../fairness/streams.ts'
import { countRequest } from '../limiter/limiter.ts'
import { spendWrite } from '../limiter/spending.ts'
import { projectIdOf, subjectId } from '../outbox/audit-subject.ts'
import { fieldsOf, recordWrite } from '../outbox/outbox.ts'
import { recordSecretRead } from '../outbox/secret-reads.ts'
import { transact, type WriteContext } from '../outbox/transact.ts'
import { Refusal } from '../refusals/refusal.ts'
import { type Peer, peerAddress } from './failure-limits.ts'
import { beginIdempotent, type IdempotentRequest, isReplayedResponse } from './idempotency.ts'
import { readListBody } from './list-body.ts'
import { readBodyOf, readParams, singleHeader, textBodyOf } from './parse-request.ts'
import { type RawQuery, readQuery, rejectUnknownFilters, rejectUnknownParameters, splitQuery } from './query.ts'
import { authorize, authorizeRequest, requestContext } from './request-context.ts'
import {
  buildAndCacheResponse,
  getCachedResponse,
  getOrBuildResponse,
  type SerializedResponse,
  serializeListResponse,
  serializeResponse,
} from './response-cache.ts'
import { isList, type Route, versionOf } from './route.ts'
import { ignoredHeader } from './validate.ts'

export type ApiRequest = {
  /** Path and query, with the version. */
  url: string
  /** Raw headers: name, value, name, value. */
  headers: readonly string[]
  /** Console session in place of a token. `once`: submission id of a form, to detect duplicates. */
  session?: { secret: string; userId: string; once?: string | undefined }
  contentType: string | undefined
  params: Params
  body: Buffer | undefined
  /** In place of the body where that is long. */
  longBody?: LongBody | undefined
  /** For routes with `fileBody`. */
  file?: IncomingFile
  peer: Peer
  gates: Gates
}

/** A response and its owner: an account, the address of an app, or the operator. */
export type OwnedResponse = SerializedResponse & { owner: string }

/** Handles a request of a route, or refuses with a key that the route declares. docs/architecture.md: Request lifecycle. */
export async function handleRequest(deps: Deps, route: Route, request: ApiRequest): Promise<OwnedResponse> {
  const query = splitQuery(request.url)
  const credentials = {
    authorization: singleHeader(request.headers, 'authorization'),
    ...(request.session !== undefined && { session: request.session.secret }),
    teamId: query.values.teamId || undefined,
    slug: query.values.slug || undefined,
  }
  const now = deps.clock.now()
  const caller = await authorizeRequest(deps, route, credentials, now, request)
  if (route.auth === 'operator') rejectUnknownParameters(route.query, query)
  if (caller !== undefined) recordLastSeen(deps.lastSeen, caller, now)
  const limit = caller && (await countRequest(deps.limits, route, caller.account.id, now))
  try {
    const answer = await dispatch({ deps, now, route, request, credentials, caller }, query)
    return limit === undefined ? answer : { ...answer, headers: { ...limit, ...answer.headers } }
  } catch (error) {
    // An invalid body consumed the rate limit too, so its response has the rate limit headers.
    throw limit !== undefined && error instanceof Refusal ? error.withHeaders(limit) : error
  }
}

async function dispatch(
  { deps, now, route, request, credentials, caller }: Omit<AuthorizedRequest, 'input'>,
  query: RawQuery,
): Promise<OwnedResponse> {
  const cached = getCachedResponse({ cache: deps.cache, route, caller, url: request.url })
  if (cached !== undefined) {
    await endOfIteration()
    return { ...cached, owner: caller!.shareId }
  }
  const unread = {
    params: readParams(request.params),
    query: readQuery(route.query, query),
    version: versionOf(request.url),
    agent: singleHeader(request.headers, 'user-agent'),
    ...(route.auth === 'client' && { authorization: credentials.authorization, address: peerAddress(request.peer) }),
  }
  if (route.auth === 'public' && isList(route)) rejectUnknownFilters(route, query)
  const owner = caller?.shareId ?? (route.auth === 'client' ? peerAddress(request.peer) : 'operator')
  const make = async (sent: Buffer | undefined) => {
    // Parsed only now: the budget counts bytes of waiting bodies, not parsed values.
    const readBody = route.listBody === undefined ? readBodyOf : readListBody
    const dropped: string[] = []
    const body = await readBody(route, request.contentType, textBodyOf(request.headers, sent), dropped)
    const input: Input = { ...unread, body, file: request.file }
    const admitted = { deps, now, route, request: { ...request, body: sent }, credentials, caller, input }
    const answer = await (route.method === 'GET' || route.reads ? executeRead : executeWrite)(admitted)
    const namesIgnored = route.method === 'PATCH' || route.namesIgnored
    return namesIgnored ? { ...answer, headers: { ...answer.headers, ...ignoredHeader(dropped) } } : answer
  }
  const { gates, file, longBody } = request
  const run = (sent: Buffer | undefined) => {
    const bytes = caller === undefined ? 0 : (sent?.length ?? 0)
    return runWhenAdmitted(gates, route, owner, isBulk(bytes) ? bytes : 0, () => make(sent))
  }
  const answer = await (file !== undefined
    ? gates.files.inTurn(owner, () => make(undefined), file.gone)
    : longBody !== undefined
      ? runWithBody(gates, route, owner, longBody, run)
      : run(request.body))
  if (route.method === 'GET') await endOfIteration()
  return { ...answer, owner }
}

type AuthorizedRequest = {
  deps: Deps
  now: number
  route: Route
  request: ApiRequest
  credentials: Credentials
  caller: Caller | undefined
  input: Input
}

async function executeRead(authorized: AuthorizedRequest): Promise<SerializedResponse> {
  const { deps, now, route, request, caller, input: received } = authorized
  const ctx = requestContext({ deps, now, route, actorId: request.session?.userId }, deps.db.read, caller)
  const input = await resolveInput(route, deps.db.read, received)
  const make = async () => {
    const resource = await loadResource(ctx, route, input)
    const stream = streamOf({ ...authorized, input }, resource)
    if (stream !== undefined) return { written: stream, resource, clear: true }
    const answer = await route.run(ctx, resource, input, undefined)
    const written = await (route.list === undefined
      ? serializeResponse(route, answer, request.url)
      : serializeListResponse(deps, route, answer, request.url))
    const reveals = caller !== undefined && (ctx.revealed?.size ?? 0) > 0
    if (reveals) recordSecretRead(deps, caller, route.operationId, [answer, resource], ctx.revealed!)
    return { written, resource, clear: reveals || ctx.secrets?.decrypted !== false }
  }
  const asking = { cache: deps.cache, route, caller, url: request.url }
  const version = await route.cacheVersion?.(ctx, input)
  return version === undefined
    ? buildAndCacheResponse(asking, make)
    : getOrBuildResponse(deps, { ...asking, caller: caller!, version }, make)
}

/** Undefined for a request that is not followed, and where its owner has too many streams: it gets what there is. */
function streamOf(
  { deps, route, request, credentials, caller, input }: AuthorizedRequest,
  resource: unknown,
): SerializedResponse | undefined {
  const lines = route.follow?.(deps, resource, input)
  if (lines === undefined || caller === undefined) return undefined
  const canRead = async () => {
    const { read } = deps.db
    const now = deps.clock.now()
    const caller = await authorize(deps, route, read, credentials, now)
    await loadResource(
      requestContext({ deps, now, route, actorId: request.session?.userId }, read, caller),
      route,
      input,
    )
  }
  const stream = openStream(deps.db, { owner: caller.shareId, lines, canRead })
  return stream && { links: undefined, body: undefined, stream, contentType: 'application/stream+json' }
}

async function executeWrite(admitted: AuthorizedRequest): Promise<SerializedResponse> {
  const { deps, now, route, request, credentials, input } = admitted
  const repeats = route.repeats?.may(input) ? route.repeats : undefined
  const once = await beginIdempotent(deps, route, request, credentials.authorization, repeats?.ms)
  try {
    return (await once?.find(deps.db.read, now)) ?? (await writeInTransaction(admitted, once))
  } catch (error) {
    // Where another instance was first with this key meanwhile, what it created can be what refuses this one.
    const first = error instanceof Refusal ? await once?.find(deps.db.read, now) : undefined
    if (first === undefined) throw error
    return first
  } finally {
    once?.finish()
  }
}

async function writeInTransaction(
  { deps, now, route, request, credentials, caller, input: received }: AuthorizedRequest,
  once: IdempotentRequest | undefined,
) {
  const outer = { deps, now, route, taken: new Map(), actorId: request.session?.userId }
  const before = requestContext(outer, deps.db.read, caller)
  const resolved = await resolveInput(route, deps.db.read, received)
  const prepared = await route.prepare?.(before, await loadResource(before, route, resolved), resolved)
  const writer = { name: route.operationId, emits: route.emits ?? [], shareId: caller?.shareId }
  const work = async (tx: Queries, begin: () => WriteContext): Promise<SerializedResponse> => {
    if (route.revokesAccess) await serializeRevocations(tx)
    // Authenticate again inside the transaction, in case access was revoked while this request waited.
    const caller = await authorize(deps, route, tx, credentials, deps.clock.now())
    const previous = await once?.claim(tx, now)
    if (previous !== undefined) return previous
    const ctx = requestContext(outer, tx, caller, begin())
    const input = await resolveInput(route, tx, received)
    const resource = await loadResource(ctx, route, input)
    const answer = await route.run(ctx, resource, input, prepared)
    const spend = 'spend' in ctx ? ctx.spend : undefined
    const audited = route.auditAs?.(answer)
    if (route.fileBody === undefined && audited !== null) {
      const named = subjectId(answer ?? resource, input)
      const type = audited ?? route.operationId
      const projectId = projectIdOf(resource, answer)
      const eventBytes = await recordWrite(ctx, ctx.outgoing, type, named, fieldsOf(input.body), projectId)
      if (spend !== undefined) await spendWrite(spend, eventBytes, now)
    }
    const bytes = serializeResponse(route, answer, request.url)
    await once?.store(tx, bytes, spend)
    return bytes
  }
  const result = await transact(deps, writer, work).catch(async (error) => {
    // If the connection was lost, the commit may have succeeded, so do not undo.
    if (!deps.db.mayHaveCommitted(error)) await route.undo?.(before, prepared)
    throw error
  })
  // Another instance was first with this key, so undo the work that this request did outside.
  if (isReplayedResponse(result)) await route.undo?.(before, prepared)
  else afterCommit(deps, route)
  return result
}

function afterCommit({ wakeups }: Deps, { triggers, queuesBuilds }: Route): void {
  if (triggers !== undefined) wakeups.timer(triggers)
  if (queuesBuilds) wakeups.builds()
}

async function resolveInput({ auth }: Route, db: Queries, input: Input): Promise<Input> {
  return auth === 'operator' ? resolveNames(db, input) : input
}

async function loadResource(ctx: OperatorCtx, route: Route, input: Input): Promise<unknown> {
  const resource = await route.load?.(ctx, input.params)
  for (const guard of route.guards ?? []) await guard(ctx, resource, input)
  return resource
}
