/** The life of a request: who, may they, what, on what, is it allowed now, do it, commit, answer. */
import { authenticateOperator, type Credentials, permit } from '../access/authenticate.ts'
import { authenticateOperatorSession } from '../access/by-session.ts'
import { resolveNames } from '../access/names.ts'
import { endOneAfterAnother } from '../access/person.ts'
import { projectAhead } from '../access/read-ahead.ts'
import { readActing, recall } from '../access/recall.ts'
import type { Deps, Input, OperatorCtx, Params, Who } from '../context.ts'
import type { Queries } from '../db/db.ts'
import { endOfIteration } from '../event-loop.ts'
import { countRequest } from '../limiter/limiter.ts'
import { fieldsOf, record, subjectId } from '../outbox/outbox.ts'
import { noteReveal } from '../outbox/reveals.ts'
import { transact, type Write } from '../outbox/transact.ts'
import { Refusal } from '../refusal.ts'
import { contextOf } from './context-of.ts'
import { addressOf, countGuess, type Peer } from './failure-limits.ts'
import { type Gates, inTurn } from './gate.ts'
import { beginOnce, isReplay, type Once } from './idempotency.ts'
import { readBodyOf, readParams, soleHeader } from './parse-request.ts'
import { mustBeKnown, mustKnowFilters, type RawQuery, readQuery, splitQuery } from './query.ts'
import { answerByState, findAnswer, makeAnswer, type Written, writeAnswer, writeList } from './response-cache.ts'
import { isList, type Route, versionOf } from './route.ts'

/** A request as it came in: nothing of it has been looked at. */
export type ApiRequest = {
  /** Path and query, with the version. */
  url: string
  /** Name, value, name, value, as they were sent. */
  headers: readonly string[]
  /** Of the console: the session in the place of a token, its secret and whose it is. `once`: by what a form is known when it is sent twice. */
  session?: { secret: string; userId: string; once?: string | undefined }
  contentType: string | undefined
  params: Params
  body: Buffer | undefined
  peer: Peer
  gates: Gates
}

/** An answer, and whose it is: the account, the address of an app, or the operator. */
export type Answered = Written & { owner: string }

/** A body that is longer says very many things, such as some hundred variables. */
const BULK_BYTES = 8 * 1024

/** Answers a request of a route, or refuses with what the route declares. docs/architecture.md: Life of a request. */
export async function answerRequest(deps: Deps, route: Route, request: ApiRequest): Promise<Answered> {
  const query = splitQuery(request.url)
  const credentials = {
    authorization: soleHeader(request.headers, 'authorization'),
    ...(request.session !== undefined && { session: request.session.secret }),
    // Clients that act for nobody's team say `teamId=`.
    teamId: query.values.teamId || undefined,
    slug: query.values.slug,
  }
  const now = deps.clock.now()
  const who = await admitFirst(deps, route, credentials, now, request)
  if (route.auth === 'operator') mustBeKnown(route.query, query)
  if (who !== undefined) noteSeen(deps, who, now)
  const limit = who && (await countRequest(deps.limits, route, who.account.id, now))
  try {
    const answer = await answerCounted({ deps, now, route, request, credentials, who }, query)
    return limit === undefined ? answer : { ...answer, headers: { ...limit, ...answer.headers } }
  } catch (error) {
    // A request that is refused for its body was counted too, so its answer says what is left.
    throw limit !== undefined && error instanceof Refusal ? error.withHeaders(limit) : error
  }
}

async function answerCounted(
  { deps, now, route, request, credentials, who }: Omit<Admitted, 'input'>,
  query: RawQuery,
): Promise<Answered> {
  const known = findAnswer({ memory: deps.memory, route, who, url: request.url })
  if (known !== undefined) {
    await endOfIteration()
    return { ...known, owner: who!.account.id }
  }
  const input: Input = {
    params: readParams(request.params),
    query: readQuery(route.query, query),
    body: readBodyOf(route, request.contentType, request.body),
    version: versionOf(request.url),
    agent: soleHeader(request.headers, 'user-agent'),
    ...(route.auth === 'client' && { authorization: credentials.authorization, address: addressOf(request.peer) }),
  }
  if (route.auth === 'public' && isList(route)) mustKnowFilters(route, query)
  const owner = who?.account.id ?? (route.auth === 'client' ? addressOf(request.peer) : 'operator')
  const admitted = { deps, now, route, request, credentials, who, input }
  const isBulk = who !== undefined && (request.body?.length ?? 0) > BULK_BYTES
  const answer = await inTurn(request.gates, route, owner, isBulk, () =>
    route.method === 'GET' ? answerRead(admitted) : answerWrite(admitted),
  )
  if (route.method === 'GET') await endOfIteration()
  return { ...answer, owner }
}

/** A request that was let in and could be read. */
type Admitted = {
  deps: Deps
  now: number
  route: Route
  request: ApiRequest
  credentials: Credentials
  who: Who | undefined
  input: Input
}

async function answerRead({ deps, now, route, request, who, input: received }: Admitted): Promise<Written> {
  const ctx = contextOf({ deps, now, route, actorId: request.session?.userId }, deps.db.read, who)
  const input = await inputOf(route, deps.db.read, received)
  // Written before it waits: of a page of projects, what is held meanwhile is the text and not the objects.
  const make = async () => {
    const subject = await findAllowed(ctx, route, input)
    const answer = await route.run(ctx, subject, input, undefined)
    const written =
      route.list === undefined
        ? writeAnswer(route, answer, request.url)
        : await writeList(deps, route, answer, request.url)
    const reveals = who !== undefined && (ctx.revealed?.size ?? 0) > 0
    if (reveals) noteReveal(deps, who, route.operationId, [answer, subject], ctx.revealed!)
    return { written, subject, clear: reveals || ctx.clear?.opened !== false }
  }
  const asking = { memory: deps.memory, route, who, url: request.url }
  const state = await route.state?.(ctx, input)
  return state === undefined ? makeAnswer(asking, make) : answerByState(deps, { ...asking, who: who!, state }, make)
}

async function answerWrite(admitted: Admitted): Promise<Written> {
  const { deps, now, route, request, credentials } = admitted
  const once = await beginOnce(deps, route, request, credentials.authorization)
  try {
    return (await once?.find(deps.db.read, now)) ?? (await writeOnce(admitted, once))
  } finally {
    once?.end()
  }
}

async function writeOnce(
  { deps, now, route, request, credentials, who, input: received }: Admitted,
  once: Once | undefined,
) {
  const outer = { deps, now, route, counted: { rows: 0 }, actorId: request.session?.userId }
  const before = contextOf(outer, deps.db.read, who)
  const prepared = route.prepare && (await prepareOutside(before, route, await inputOf(route, deps.db.read, received)))
  const writer = { name: route.operationId, emits: route.emits ?? [], accountId: who?.account.id }
  const work = async (tx: Queries, begin: () => Write): Promise<Written> => {
    if (route.revokesAccess) await endOneAfterAnother(tx)
    // Who acts is read again inside the transaction: access that ended while this waited has ended.
    const who = await admit(deps, route, tx, credentials, deps.clock.now())
    const former = await once?.take(tx, now)
    if (former !== undefined) return former
    const ctx = contextOf(outer, tx, who, begin())
    const input = await inputOf(route, tx, received)
    const subject = await findAllowed(ctx, route, input)
    const answer = await route.run(ctx, subject, input, prepared)
    await record(ctx, ctx.outgoing, route.operationId, subjectId(answer ?? subject, input), fieldsOf(input.body))
    const bytes = writeAnswer(route, answer, request.url)
    await once?.keep(tx, bytes)
    return bytes
  }
  const result = await transact(deps, writer, work).catch(async (error) => {
    // A store that is away may have taken the write: what was done for it stays.
    if (deps.db.refusalOf(error) !== 'unavailable') await route.undo?.(before, prepared)
    throw error
  })
  // Another instance was first with this key: what was done outside for this request is one too many.
  if (isReplay(result)) await route.undo?.(before, prepared)
  else if (route.triggers !== undefined) deps.wakeups.timer(route.triggers)
  return result
}

function noteSeen({ lastSeen }: Deps, { actor, userId, installationId }: Who, now: number): void {
  if (actor.tokenId !== null) lastSeen.note(actor.tokenId, now)
  if (installationId === null) lastSeen.note(userId, now)
}

/** As `admit`, before anything is looked at; a failure may be a guess and is counted. Refuses: rate_limited 429 too. */
async function admitFirst(
  deps: Deps,
  route: Route,
  credentials: Credentials,
  now: number,
  { params, peer }: ApiRequest,
): Promise<Who | undefined> {
  try {
    return await admit(deps, route, deps.db.read, credentials, now, () =>
      recall(deps, credentials, now, route.readAhead && projectAhead(deps.db, params)),
    )
  } catch (error) {
    await countGuess(deps, error, peer)
    throw error
  }
}

/** Lets the caller of a route in, or refuses with 401 or 403. Undefined for the operator and for clients, who act for no account. `read`: reads who acts. */
async function admit(
  deps: Deps,
  route: Route,
  db: Queries,
  credentials: Credentials,
  now: number,
  read = () => readActing(db, credentials, now),
): Promise<Who | undefined> {
  if (route.auth === 'client') return undefined
  const { session } = credentials
  if (route.auth === 'operator') {
    if (session === undefined) authenticateOperator(credentials.authorization, deps.operatorTokenHash)
    else await authenticateOperatorSession(db, session, now)
    return undefined
  }
  const who = await read()
  permit(who, route.needs ?? [])
  return who
}

/** An operator may call accounts by name. */
async function inputOf({ auth }: Route, db: Queries, input: Input): Promise<Input> {
  return auth === 'operator' ? resolveNames(db, input) : input
}

async function prepareOutside(ctx: OperatorCtx, route: Route, input: Input): Promise<unknown> {
  return route.prepare!(ctx, await findAllowed(ctx, route, input), input)
}

/** The subject, found and with every guard holding. */
async function findAllowed(ctx: OperatorCtx, route: Route, input: Input): Promise<unknown> {
  const subject = await route.load?.(ctx, input.params)
  for (const guard of route.guards ?? []) await guard(ctx, subject, input)
  return subject
}
