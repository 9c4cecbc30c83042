/** One-time codes of an app (RFC 6238): setting them up, and using one. docs/sign-in-and-consent.md: Second factors. */
import type { TOTP } from 'otpauth'
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'

type Ctx = Pick<OperatorCtx, 'db' | 'deps' | 'now'>
type User = { userId: string; username: string }

const PERIOD_S = 30
/** The step before and the step after count too: clocks differ, and people type slowly (RFC 6238 5.2). */
const WINDOW = 1
const SECRET_BYTES = 20

/** What an app needs: the secret in base32, and the same as a link. */
export type Setup = { secret: string; uri: string }

/** Loaded when it is needed first: many services never need it. */
function library() {
  return import('otpauth')
}

/** A new secret, in base32. */
export async function newTotpSecret(): Promise<string> {
  const { Secret } = await library()
  return new Secret({ size: SECRET_BYTES }).base32
}

/** Whether a person has one-time codes that count. */
export async function hasTotp(db: Queries, userId: string): Promise<boolean> {
  const mine = db.selectFrom('totp').select('user_id').where('user_id', '=', userId)
  return (await mine.where('confirmed_at', 'is not', null).executeTakeFirst()) !== undefined
}

/** Keeps a new secret, which opens nothing until its first code was typed. It takes the place of one that was never confirmed. False: the person has one-time codes already. */
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

/** The secret that waits for its first code; undefined where none does. */
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

/** A right code, before the transaction that uses it up. `isFirst`: it confirms a new secret. */
export type ValidTotp = { sealedSecret: string; step: number; isFirst: boolean }

/** Checks a code, of the secret that is confirmed or (`isFirst`) of the one that waits for its first code. Undefined: it is wrong. */
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

/** Uses a right code up; the first one makes the secret count. False: it was used, or the secret is another one by now. Of several at once one is true. */
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

/** Removes the secret. False: there was none that counts. */
export async function removeTotp({ db }: Pick<Ctx, 'db'>, userId: string): Promise<boolean> {
  const gone = await db.deleteFrom('totp').where('user_id', '=', userId).returning('confirmed_at').executeTakeFirst()
  return gone !== undefined && gone.confirmed_at !== null
}

async function totpOf(secret: string): Promise<TOTP> {
  const { Secret, TOTP } = await library()
  return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: PERIOD_S })
}
