/** Time-based one-time codes (RFC 6238). docs/sign-in-and-consent.md: Second factors. */
import type { TOTP } from 'otpauth'
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'

type Ctx = Pick<OperatorCtx, 'db' | 'deps' | 'now'>
type User = { userId: string; username: string }

const PERIOD_S = 30
/** Also accepts the previous and the next step, because clocks differ and users type slowly (RFC 6238 5.2). */
const WINDOW = 1
const SECRET_BYTES = 20

/** The secret for an app, in base32 and as a link. */
export type Setup = { secret: string; uri: string }

/** Loaded on first use, because many instances never need it. */
function library() {
  return import('otpauth')
}

/** Returns a new secret in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await library()
  return new Secret({ size: SECRET_BYTES }).base32
}

/** Whether a user has confirmed one-time codes. */
export async function hasTotp(db: Queries, userId: string): Promise<boolean> {
  const mine = db.selectFrom('totp').select('user_id').where('user_id', '=', userId)
  return (await mine.where('confirmed_at', 'is not', null).executeTakeFirst()) !== undefined
}

/** Stores a new secret, which works after its first code is confirmed. It replaces an unconfirmed one. False when the user has a confirmed secret. */
export async function beginTotp(ctx: Ctx, userId: string, secret: string): Promise<boolean> {
  const box = await openSecretBoxToWrite(ctx, userId)
  const columns = { sealed_secret: box.sealSecret('totp', userId, secret), created_at: ctx.now, used_step: 0 }
  const written = await ctx.db
    .insertInto('totp')
    .values({ user_id: userId, confirmed_at: null, ...columns })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(columns).where('totp.confirmed_at', 'is', null))
    .returning('user_id')
    .executeTakeFirst()
  return written !== undefined
}

/** Returns the unconfirmed secret, if any. */
export async function findSetup(ctx: Ctx, { userId, username }: User): Promise<Setup | undefined> {
  const row = await ctx.db
    .selectFrom('totp')
    .select('sealed_secret')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is', null)
    .executeTakeFirst()
  const secret = row && (await openSecretBox(ctx, userId)).openSecret('totp', userId, row.sealed_secret)
  if (secret === undefined) return undefined
  const host = new URL(ctx.deps.origin()).host
  const totp = await totpOf(secret)
  totp.issuer = `Berth ${host}`
  totp.label = username
  return { secret, uri: totp.toString() }
}

/** A valid code, checked before the transaction that consumes it. `isFirst`: it confirms a new secret. */
export type ValidTotp = { sealedSecret: string; step: number; isFirst: boolean }

/** Checks a code against the confirmed secret or, with `isFirst`, the unconfirmed one. Undefined when wrong. */
export async function checkTotp(
  ctx: Ctx,
  userId: string,
  code: string,
  isFirst = false,
): Promise<ValidTotp | undefined> {
  const row = await ctx.db
    .selectFrom('totp')
    .select('sealed_secret')
    .where('user_id', '=', userId)
    .where('confirmed_at', isFirst ? 'is' : 'is not', null)
    .executeTakeFirst()
  const secret = row && (await openSecretBox(ctx, userId)).openSecret('totp', userId, row.sealed_secret)
  if (secret === undefined) return undefined
  const delta = (await totpOf(secret)).validate({ token: code, timestamp: ctx.now, window: WINDOW })
  const step = Math.floor(ctx.now / (PERIOD_S * 1000)) + (delta ?? 0)
  return delta === null ? undefined : { sealedSecret: row!.sealed_secret, step, isFirst }
}

/** Consumes a valid code. The first one confirms the secret. False when it was used or the secret was replaced. Of concurrent calls, one succeeds. */
export async function consumeTotp(
  { db, now }: Ctx,
  userId: string,
  { sealedSecret, step, isFirst }: ValidTotp,
): Promise<boolean> {
  const used = await db
    .updateTable('totp')
    .set({ used_step: step, ...(isFirst && { confirmed_at: now }) })
    .where('user_id', '=', userId)
    .where('sealed_secret', '=', sealedSecret)
    .where('confirmed_at', isFirst ? 'is' : 'is not', null)
    .where('used_step', '<', step)
    .returning('user_id')
    .executeTakeFirst()
  return used !== undefined
}

/** Removes the secret. False when no confirmed secret exists. */
export async function removeTotp({ db }: Pick<Ctx, 'db'>, userId: string): Promise<boolean> {
  const deleted = await db.deleteFrom('totp').where('user_id', '=', userId).returning('confirmed_at').executeTakeFirst()
  return deleted !== undefined && deleted.confirmed_at !== null
}

async function totpOf(secret: string): Promise<TOTP> {
  const { Secret, TOTP } = await library()
  return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: PERIOD_S })
}
