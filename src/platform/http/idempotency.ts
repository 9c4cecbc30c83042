/**
 * A write that is asked for again is done once: `Idempotency-Key`. The answer is kept in the transaction of the effect, so that there
 * are both or neither. docs/spec/decisions.md: Errors, limits, versions; docs/decisions/0118.
 */
import { createHash, hkdfSync } from 'node:crypto'
import type { Deps, OperatorCtx } from '../../context.ts'
import { parseBearer } from '../access/authenticate.ts'
import { pauseWhenBusy } from '../base/event-loop.ts'
import { fingerprint } from '../base/ids.ts'
import { chunks } from '../db/chunks.ts'
import type { Queries } from '../db/db.ts'
import type { LimitStatus } from '../limiter/limiter.ts'
import type { Spend } from '../limiter/spending.ts'
import { refuse } from '../refusals/refusal.ts'
import { associatedData, open, seal, toSecretKey } from '../secrets/seal.ts'
import type { SerializedResponse } from './response-cache.ts'
import { acceptsIdempotencyKey, type Route } from './route.ts'

const KEPT_MS = 24 * 3_600_000
/** Bytes that are hashed at once. */
const HASHED_BYTES = 256 * 1024
const HEADER = 'idempotency-key'
const REPLAYED = 'idempotency-replayed'

/** What of a request makes it the same one. Of the console: by what its form is known when it is sent twice, and by whom it is. */
type RepeatableRequest = {
  url: string
  headers: readonly string[]
  body: Buffer | undefined
  session?: { secret: string; once?: string | undefined }
}

/** One key, while a request that brought it runs. */
export type IdempotentRequest = {
  /** The answer that is kept. Refuses: idempotency_key_reused 422. */
  find(db: Queries, now: number): Promise<SerializedResponse | undefined>
  /** Takes the key, within the transaction of the effect; gives the answer instead when another request was first. Refuses as `find` does. */
  claim(tx: Queries, now: number): Promise<SerializedResponse | undefined>
  /** Keeps the answer, within the same transaction. `spend`: of the budget of the account. Refuses: idempotency_keys_used_up 409. */
  store(tx: Queries, answer: SerializedResponse, spend?: Spend): Promise<void>
  /** The request is over. */
  finish(): void
}

/** The keys that requests of this process bring at this moment, each with the end of its request. */
const IN_PROGRESS = new WeakMap<Deps, Map<string, Promise<void>>>()

/**
 * Begins a request that brought a key, or whose route clients repeat (`repeatMs`): then what it asks is its key, and it is the same one for so long.
 * Undefined for any other. Keys are the token's own: another token's are others. A form of the console that is sent twice waits for its first sending,
 * because a browser shows the answer to the last one; and so does a request that is repeated.
 * Refuses: bad_request 400 (no key), idempotency_key_in_use 409.
 */
export async function beginIdempotent(
  deps: Deps,
  route: Route,
  request: RepeatableRequest,
  authorization: string | undefined,
  repeatMs?: number,
): Promise<IdempotentRequest | undefined> {
  const given = acceptsIdempotencyKey(route) ? keyOf(route, request) : undefined
  if (given === undefined && repeatMs === undefined) return undefined
  const isForm = given !== undefined && request.session !== undefined
  const print = isForm ? undefined : await fingerprintOf(route.method, request)
  const secret = request.session?.secret ?? parseBearer(authorization)!
  // No key that callers send has a line break.
  const id = fingerprint(`${secret} ${given ?? `repeat\n${print}`}`)
  const keptMs = given === undefined ? repeatMs! : KEPT_MS
  const running = IN_PROGRESS.getOrInsertComputed(deps, () => new Map())
  for (let first = running.get(id); first !== undefined; first = running.get(id)) {
    if (given !== undefined && !isForm) refuse('idempotency_key_in_use', undefined, {}, { 'retry-after': '1' })
    await first
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  running.set(id, promise)
  // The database alone opens nothing: what seals is the caller's token or session, of which it has a hash.
  const sealing = toSecretKey(Buffer.from(hkdfSync('sha256', secret, id, 'berth idempotency', 32)))
  // What a form asks may name the moment at which it was sent, which is another one the second time.
  const hash = print ?? id
  const find = (db: Queries, now: number) => findStoredResponse(db, { id, asked: hash, since: now - keptMs }, sealing)
  return {
    find,
    async claim(tx, now) {
      // What repeats a request does so once that took too long: it counts from when it was done.
      const doneAt = given === undefined ? deps.clock.now() : now
      const isFree = await claimKey(tx, { id, asked: hash, now: doneAt }, now - keptMs)
      return isFree ? undefined : find(tx, now)
    },
    store: (tx, answer, spend) =>
      keepAnswer(tx, { id, status: route.status, sealing, isDemanded: given !== undefined }, answer, spend),
    finish() {
      running.delete(id)
      resolve()
    },
  }
}

type Kept = { id: string; status: number; sealing: ReturnType<typeof toSecretKey>; isDemanded: boolean }

/** Where there is no room, an answer that nobody demanded to be kept is not. Refuses: idempotency_keys_used_up 409. */
async function keepAnswer(
  tx: Queries,
  { id, status, sealing, isDemanded }: Kept,
  { body }: SerializedResponse,
  spend: Spend | undefined,
): Promise<void> {
  const sealed_body = body === undefined ? null : seal(sealing, Buffer.from(body), associatedData('kept-answer', id))
  const counts = [await spend?.('kept-answer-bytes', sealed_body?.length ?? 0), await spend?.('kept-answers', 1)]
  if (isDemanded) for (const count of counts) mustHaveRoom(count)
  if (counts.some((count) => count?.exceeded)) await tx.deleteFrom('kept_answer').where('id', '=', id).execute()
  else await tx.updateTable('kept_answer').set({ status, sealed_body }).where('id', '=', id).execute()
}

/** Refuses: idempotency_keys_used_up 409. Not 429, for which SDKs would wait until the next day. */
function mustHaveRoom(count: LimitStatus | undefined): void {
  if (!count?.exceeded) return
  const { name, total, endsAt } = count
  const what = name === 'kept-answers' ? `${total} answers` : `${total} bytes of answers`
  const message = `The account has kept ${what} for Idempotency-Key in 24 hours, which is the most. Send the request without the header, or with it after ${new Date(endsAt).toISOString()}.`
  refuse('idempotency_keys_used_up', message, {
    name,
    limit: { total, remaining: 0, reset: Math.ceil(endsAt / 1000), resetMs: endsAt },
  })
}

/** The key of a request, or of one of the routes that a form asks. */
function keyOf({ operationId }: Route, { headers, session }: RepeatableRequest): string | undefined {
  if (session === undefined) return readKey(headers)
  return session.once === undefined ? undefined : `${session.once} ${operationId}`
}

/** The key of a request. Refuses: bad_request 400 for one that is given twice: with either of the two alone, the write could be done once more. */
function readKey(rawHeaders: readonly string[]): string | undefined {
  const keys = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === HEADER)
  const [key] = keys
  if (key === undefined) return undefined
  if (keys.length > 1 || !/^[\x20-\x7e]{1,255}$/.test(key))
    refuse(
      'bad_request',
      'Invalid request: the header Idempotency-Key should be given once, as 1 to 255 printable ASCII characters.',
    )
  return key
}

async function fingerprintOf(method: string, { url, body }: RepeatableRequest): Promise<string> {
  const hash = createHash('sha256').update(`${method} ${url}\n`)
  for (let at = 0; at < (body?.length ?? 0); at += HASHED_BYTES) {
    hash.update(body!.subarray(at, at + HASHED_BYTES))
    await pauseWhenBusy()
  }
  return hash.digest('hex')
}

type StoredResponseQuery = { id: string; asked: string; since: number }

async function findStoredResponse(
  db: Queries,
  { id, asked, since }: StoredResponseQuery,
  sealing: ReturnType<typeof toSecretKey>,
): Promise<SerializedResponse | undefined> {
  const row = await db
    .selectFrom('kept_answer')
    .selectAll()
    .where('id', '=', id)
    .where('created_at', '>', since)
    .executeTakeFirst()
  if (row === undefined) return undefined
  if (row.asked !== asked) refuse('idempotency_key_reused')
  const body = row.sealed_body === null ? undefined : open(sealing, row.sealed_body, associatedData('kept-answer', id))
  if (row.sealed_body !== null && body === undefined) throw new Error('a kept answer does not open')
  return { links: undefined, body, status: row.status, headers: { [REPLAYED]: 'true' } }
}

/** Whether an answer was kept, rather than made now. */
export function isReplayedResponse({ headers }: SerializedResponse): boolean {
  return headers?.[REPLAYED] !== undefined
}

/** One statement decides whose the key is: nobody's until now, or one of more than 24 hours ago. */
async function claimKey(
  tx: Queries,
  { id, asked, now }: { id: string; asked: string; now: number },
  endedBefore: number,
): Promise<boolean> {
  const row = { asked, status: 0, sealed_body: null, created_at: now }
  const ids = await tx
    .insertInto('kept_answer')
    .values({ id, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row).where('kept_answer.created_at', '<=', endedBefore))
    .returning('id')
    .executeTakeFirst()
  return ids !== undefined
}

/** Answers are kept for 24 hours. */
export async function purgeIdempotencyKeys(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = await ctx.db
    .selectFrom('kept_answer')
    .select('id')
    .where('created_at', '<=', ctx.now - KEPT_MS)
    .limit(limit)
    .execute()
  // By a list of their ids: PostgreSQL without statistics would walk through all for a sub-query.
  for (const some of chunks(old.map(({ id }) => id))) {
    await ctx.db.deleteFrom('kept_answer').where('id', 'in', some).execute()
  }
  return old.length
}
