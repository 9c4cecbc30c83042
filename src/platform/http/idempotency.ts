/**
 * `Idempotency-Key`: a repeated write runs once. The response is stored in the transaction of the write, so that both or neither exist.
 * docs/spec/decisions.md: Errors, limits, versions; docs/decisions/0118.
 */
import { createHash, hkdfSync } from 'node:crypto'
import type { Deps } from '../../context.ts'
import { parseBearer } from '../access/authenticate.ts'
import { pauseWhenBusy } from '../base/event-loop.ts'
import { fingerprint } from '../base/ids.ts'
import { expirySweep } from '../db/chunks.ts'
import type { Queries } from '../db/db.ts'
import type { LimitStatus } from '../limiter/limiter.ts'
import type { Spend } from '../limiter/spending.ts'
import { refuse } from '../refusals/refusal.ts'
import { associatedData, open, seal, toSecretKey } from '../secrets/seal.ts'
import type { SerializedResponse } from './response-cache.ts'
import { acceptsIdempotencyKey, type Route } from './route.ts'

const RETENTION_MS = 24 * 3_600_000
/** Bytes hashed between pauses. */
const HASHED_BYTES = 256 * 1024
const HEADER = 'idempotency-key'
const REPLAYED = 'idempotency-replayed'

/** The parts of a request that identify it. In the console: the submission id of its form, and the user. */
type RepeatableRequest = {
  url: string
  headers: readonly string[]
  body: Buffer | undefined
  session?: { secret: string; once?: string | undefined }
}

export type IdempotentRequest = {
  /** Returns the stored response. Refuses: idempotency_key_reused 422. */
  find(db: Queries, now: number): Promise<SerializedResponse | undefined>
  /** Claims the key in the transaction of the write. Returns the response if another request was first. Refuses as `find` does. */
  claim(tx: Queries, now: number): Promise<SerializedResponse | undefined>
  /** Stores the response in the same transaction. `spend`: from the budget of the account. Refuses: idempotency_keys_used_up 409. */
  store(tx: Queries, answer: SerializedResponse, spend?: Spend): Promise<void>
  finish(): void
}

/** Keys of running requests in this process, each with the end of its request. */
const IN_PROGRESS = new WeakMap<Deps, Map<string, Promise<void>>>()

/**
 * Begins a request with a key, or of a route that clients repeat (`repeatMs`), whose key is its content. Undefined for other requests. Keys are
 * scoped to the token. Duplicate form submissions and repeated requests wait for the first one, because a browser shows the last response. Refuses:
 * bad_request 400 (no key), idempotency_key_in_use 409.
 */
export async function beginIdempotent(
  deps: Deps,
  route: Route,
  request: RepeatableRequest,
  authorization: string | undefined,
  repeatMs?: number,
): Promise<IdempotentRequest | undefined> {
  const key = acceptsIdempotencyKey(route) ? keyOf(route, request) : undefined
  if (key === undefined && repeatMs === undefined) return undefined
  const isForm = key !== undefined && request.session !== undefined
  const print = isForm ? undefined : await fingerprintOf(route.method, request)
  const secret = request.session?.secret ?? parseBearer(authorization)!
  // Keys that callers send contain no line break.
  const id = fingerprint(`${secret} ${key ?? `repeat\n${print}`}`)
  const retentionMs = key === undefined ? repeatMs! : RETENTION_MS
  const running = IN_PROGRESS.getOrInsertComputed(deps, () => new Map())
  for (let first = running.get(id); first !== undefined; first = running.get(id)) {
    if (key !== undefined && !isForm) refuse('idempotency_key_in_use', undefined, {}, { 'retry-after': '1' })
    await first
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  running.set(id, promise)
  // The encryption key derives from the token or session; the database has only their hash.
  const sealing = toSecretKey(Buffer.from(hkdfSync('sha256', secret, id, 'berth idempotency', 32)))
  // The content of a form request may contain its time, which differs in a duplicate.
  const hash = print ?? id
  const find = (db: Queries, now: number) =>
    findStoredResponse(db, { id, asked: hash, since: now - retentionMs }, sealing)
  return {
    find,
    async claim(tx, now) {
      // The period starts when the first request is done, because a client repeats when that takes too long.
      const doneAt = key === undefined ? deps.clock.now() : now
      const isFree = await claimKey(tx, { id, asked: hash, now: doneAt }, now - retentionMs)
      return isFree ? undefined : find(tx, now)
    },
    store: (tx, answer, spend) =>
      keepAnswer(tx, { id, status: route.status, sealing, isDemanded: key !== undefined }, answer, spend),
    finish() {
      running.delete(id)
      resolve()
    },
  }
}

type Kept = { id: string; status: number; sealing: ReturnType<typeof toSecretKey>; isDemanded: boolean }

/** Stores the response; without room, an unrequested one is dropped. Refuses: idempotency_keys_used_up 409. */
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
  const what = name === 'kept-answers' ? `${total} responses` : `${total} bytes of responses`
  const message = `The account has stored ${what} for Idempotency-Key in 24 hours, the maximum. Send the request without the header, or with it after ${new Date(endsAt).toISOString()}.`
  refuse('idempotency_keys_used_up', message, {
    name,
    limit: { total, remaining: 0, reset: Math.ceil(endsAt / 1000), resetMs: endsAt },
  })
}

/** Returns the key of a request, or of one route called by a form. */
function keyOf({ operationId }: Route, { headers, session }: RepeatableRequest): string | undefined {
  if (session === undefined) return readKey(headers)
  return session.once === undefined ? undefined : `${session.once} ${operationId}`
}

/** Returns the key of a request. Refuses: bad_request 400 for two keys, either of which could run the write again. */
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
  if (row.sealed_body !== null && body === undefined) throw new Error('a stored response cannot be decrypted')
  return { links: undefined, body, status: row.status, headers: { [REPLAYED]: 'true' } }
}

/** Whether a response was stored by an earlier request. */
export function isReplayedResponse({ headers }: SerializedResponse): boolean {
  return headers?.[REPLAYED] !== undefined
}

/** Claims an unused or expired key in one statement, so that only one request can win. */
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

export const purgeIdempotencyKeys = expirySweep('kept_answer', RETENTION_MS, 'created_at')
