/**
 * Passkey challenges. A challenge contains its expiry and is bound to one browser and purpose by a key of Berth, so opening a page stores nothing. A
 * used challenge is recorded. docs/sign-in-and-consent.md: Second factors.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Deps, OperatorCtx } from '../../context.ts'
import { fingerprint } from '../../platform/base/ids.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'

/** An assertion for one purpose is invalid for the others. */
export type PasskeyPurpose = 'sign in' | 'second step' | 'confirm' | 'register'
/** `csrfToken`: binds forms to one browser (platform/pages/cookies.ts). */
export type ChallengeCtx = Pick<OperatorCtx, 'db' | 'deps' | 'now'> & { csrfToken: string }

const FACT = 'challenge_key'
/** No account has this id. Its data key encrypts the challenge key. */
const OWNER = 'passkeys'
const VALID_MS = 5 * 60_000
const NONCE_BYTES = 16
const MOMENT_BYTES = 6

/** Creates the challenge key of the database. Before that, no user has a passkey. */
export async function createChallengeKey(deps: Pick<Deps, 'db' | 'keyring' | 'log'>): Promise<void> {
  const found = await deps.db.read.selectFrom('fact').select('name').where('name', '=', FACT).executeTakeFirst()
  if (found !== undefined) return
  await deps.db.write(async (db) => {
    const box = await openSecretBoxToWrite({ db, deps }, OWNER)
    const value = box.sealSecret('challenge-key', FACT, randomBytes(32).toString('base64url'))
    await db
      .insertInto('fact')
      .values({ name: FACT, value })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
  })
}

/** Creates a challenge. Undefined before the key exists. */
export async function createChallenge(
  ctx: ChallengeCtx,
  purpose: PasskeyPurpose,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const key = await readKey(ctx)
  if (key === undefined) return undefined
  const head = Buffer.alloc(MOMENT_BYTES + NONCE_BYTES)
  head.writeUIntBE(ctx.now + VALID_MS, 0, MOMENT_BYTES)
  randomBytes(NONCE_BYTES).copy(head, MOMENT_BYTES)
  return new Uint8Array(Buffer.concat([head, sign(key, ctx, purpose, head)]))
}

/** Whether a challenge belongs to this browser and purpose and has not expired. It may have been used. */
export async function isOwnChallenge(ctx: ChallengeCtx, purpose: PasskeyPurpose, challenge: string): Promise<boolean> {
  const key = await readKey(ctx)
  const bytes = Buffer.from(challenge, 'base64url')
  const head = bytes.subarray(0, MOMENT_BYTES + NONCE_BYTES)
  const tag = bytes.subarray(head.length)
  // Only the canonical encoding is accepted, because used challenges are recorded as text.
  if (key === undefined || head.length < MOMENT_BYTES + NONCE_BYTES || bytes.toString('base64url') !== challenge)
    return false
  const expected = sign(key, ctx, purpose, head)
  if (tag.length !== expected.length || !timingSafeEqual(tag, expected)) return false
  return head.readUIntBE(0, MOMENT_BYTES) > ctx.now
}

/** Consumes a challenge. False: used or expired. Of concurrent calls, one succeeds. */
export async function consumeChallenge(
  { db, now }: Pick<ChallengeCtx, 'db' | 'now'>,
  challenge: string,
): Promise<boolean> {
  const expires_at = Buffer.from(challenge, 'base64url').readUIntBE(0, MOMENT_BYTES)
  if (expires_at <= now) return false
  const marked = await db
    .insertInto('spent_challenge')
    // Kept for longer than it is valid: an instance whose clock is ahead may delete it while others still accept it.
    .values({ hash: fingerprint(challenge), expires_at: expires_at + VALID_MS })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .returning('hash')
    .executeTakeFirst()
  return marked !== undefined
}

async function readKey(ctx: Pick<ChallengeCtx, 'db' | 'deps'>): Promise<string | undefined> {
  const fact = await ctx.db.selectFrom('fact').select('value').where('name', '=', FACT).executeTakeFirst()
  return fact && (await openSecretBox(ctx, OWNER)).openSecret('challenge-key', FACT, fact.value)
}

function sign(
  key: string,
  { csrfToken }: Pick<ChallengeCtx, 'csrfToken'>,
  purpose: PasskeyPurpose,
  head: Buffer,
): Buffer {
  return createHmac('sha256', key).update(`${purpose}\0${csrfToken}\0`).update(head).digest()
}
