/** Signing in: a password, and a lock after repeated failures. The answer never tells whether the user exists. docs/sign-in-and-consent.md: Passwords and sessions. */
import { type ExpressionBuilder, sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import type { HashOwner } from '../../platform/adapters/hash-turns.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Schema } from '../../platform/db/schema.ts'
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import type { PageCtx } from '../../platform/pages/screen.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { canonicalPassword } from './passwords.ts'

/** After so many failures in a row, and again after as many more, the user is locked. */
export const FAILURES_UNTIL_LOCK = 10
/** The row that counts for those who are not there. */
const UNKNOWN_USER = 'nobody'
const FIRST_LOCK_MS = 15 * 60_000
const MAX_LOCK_MS = 24 * 3_600_000

/** What a password was checked against, before the transaction that believes it. */
export type PasswordCheck = { userId: string; passwordHash: string | null; matches: boolean } | undefined

type DbCtx = Pick<OperatorCtx, 'db' | 'now'>

/**
 * Checks a password of a sign-in. Counts a failure of the address before it is known to be one, so that many tries at once are not
 * more tries: what was right, or was not looked at, is given back. Where passwords are off none is right. Whoever is signed in has the turn of
 * their person, anybody else that of their address. Refuses: rate_limited 429, before the password is looked at.
 */
export async function checkPasswordLimited(
  ctx: Pick<PageCtx, 'db' | 'deps' | 'now' | 'address' | 'user'>,
  name: string,
  password: string,
): Promise<PasswordCheck> {
  const { limits, config } = ctx.deps
  if (!config.passwords) return undefined
  rejectIfExceeded(await limits.consume('sign-in-failures', ctx.address, ctx.now), ctx.now, 'wrong passwords')
  const giveBack = () => limits.refund('sign-in-failures', ctx.address, ctx.now)
  const owner: HashOwner =
    ctx.user === undefined ? { kind: 'stranger', owner: ctx.address } : { kind: 'account', owner: ctx.user.userId }
  const checked = await checkPassword(ctx, name, password, owner).catch(async (error) => {
    if (error instanceof Refusal) await giveBack()
    throw error
  })
  if (checked?.matches) await giveBack()
  return checked
}

/** Checks a password, slowly, and as slowly when there is no such user. Refuses: rate_limited 429 (platform/adapters/passwords.ts). */
export async function checkPassword(
  ctx: Pick<OperatorCtx, 'db' | 'deps'>,
  name: string,
  password: string,
  owner: HashOwner,
): Promise<PasswordCheck> {
  const user = await ctx.db
    .selectFrom('account')
    .leftJoin('sign_in', 'sign_in.user_id', 'account.id')
    .select(['account.id', 'sign_in.password_hash'])
    .where('account.kind', '=', 'user')
    .where('account.suspended_at', 'is', null)
    .where(name.includes('@') ? 'account.email' : 'account.slug', '=', name.trim().toLowerCase())
    .executeTakeFirst()
  const matches = await ctx.deps.adapters.passwords.matches(canonicalPassword(password), user?.password_hash, owner)
  return user && { userId: user.id, passwordHash: user.password_hash, matches }
}

/**
 * Believes what was checked, unless the user is locked or has another password by now; a failure is counted. Gives the
 * user's id, or undefined: wrong, locked and unknown are one. The count of failures ends with it, unless a second factor is still to come:
 * whoever knows the password could guess codes without an end.
 */
export async function acceptPassword(ctx: DbCtx, checked: PasswordCheck): Promise<string | undefined> {
  const admitted = checked?.matches ? await clearLock(ctx, checked) : undefined
  if (admitted === undefined) await countFailure(ctx, checked?.userId ?? UNKNOWN_USER)
  return admitted
}

async function clearLock(
  ctx: DbCtx,
  { userId, passwordHash }: NonNullable<PasswordCheck>,
): Promise<string | undefined> {
  // Read in the transaction of the session: whoever was suspended meanwhile gets none.
  if (await isSuspended(ctx, userId)) return undefined
  const isDone = !(await hasSecondFactor(ctx.db, userId))
  const row = await ctx.db
    .updateTable('sign_in')
    .set({ locked_until: null, ...(isDone && { failures: 0 }) })
    .where('user_id', '=', userId)
    .where('password_hash', '=', passwordHash)
    .where(notLocked(ctx))
    .returning('user_id')
    .executeTakeFirst()
  return row?.user_id
}

/** Whether a person may not come in; one who is gone may not either. */
export async function isSuspended({ db }: Pick<DbCtx, 'db'>, userId: string): Promise<boolean> {
  const user = await db.selectFrom('account').select('suspended_at').where('id', '=', userId).executeTakeFirst()
  return user?.suspended_at !== null
}

/** Whether a person can sign in by a password. */
export async function hasPassword(db: Queries, userId: string): Promise<boolean> {
  const row = await db.selectFrom('sign_in').select('password_hash').where('user_id', '=', userId).executeTakeFirst()
  return row != null && row.password_hash !== null
}

/** Whether too many failures lock a person for now. Of somebody without a password nothing was counted before their first wrong code. */
export async function isLocked(ctx: DbCtx, userId: string): Promise<boolean> {
  return (await lockedUntil(ctx, userId)) !== undefined
}

/** Until when too many failures lock a person, in milliseconds; undefined where nothing does. It is told to nobody but the person. */
export async function lockedUntil({ db, now }: DbCtx, userId: string): Promise<number | undefined> {
  const locked = db
    .selectFrom('sign_in')
    .select('locked_until')
    .where('user_id', '=', userId)
    .where('locked_until', '>', now)
  return (await locked.executeTakeFirst())?.locked_until ?? undefined
}

/** All is proven: the count begins anew. */
export async function clearFailures({ db }: Pick<DbCtx, 'db'>, userId: string): Promise<void> {
  await db.updateTable('sign_in').set({ failures: 0, locked_until: null }).where('user_id', '=', userId).execute()
}

/** Counts a wrong code of somebody who proved all else. They may have no password: a link or the provider let them come so far. */
export async function countWrongCode(ctx: DbCtx, userId: string): Promise<void> {
  await ctx.db
    .insertInto('sign_in')
    .values({ user_id: userId, password_hash: null, failures: 0, locked_until: null })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .execute()
  await countFailure(ctx, userId, true)
}

/**
 * Counts one more. Tries while the lock holds are not counted: they learn nothing, and nobody could lock a user for good. Wrong passwords of
 * somebody who has none are not counted either, or anybody could lock their codes.
 */
async function countFailure(ctx: DbCtx, userId: string, isCode = false): Promise<void> {
  const counted = await ctx.db
    .updateTable('sign_in')
    .set({ failures: sql`failures + 1` })
    .where('user_id', '=', userId)
    .$if(!isCode, (mine) => mine.where('password_hash', 'is not', null))
    .where(notLocked(ctx))
    .returning('failures')
    .executeTakeFirst()
  if (counted === undefined) return countUnknownUser(ctx)
  if (counted.failures % FAILURES_UNTIL_LOCK !== 0) return
  await ctx.db
    .updateTable('sign_in')
    .set({ locked_until: ctx.now + lockFor(counted.failures) })
    .where('user_id', '=', userId)
    .execute()
}

/** Where there is nothing to count, as much is written: how long the answer takes would tell otherwise who exists and who is locked. */
async function countUnknownUser(ctx: DbCtx): Promise<void> {
  await ctx.db
    .insertInto('sign_in')
    .values({ user_id: UNKNOWN_USER, password_hash: null, failures: 1, locked_until: null })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ failures: sql`sign_in.failures + 1` }))
    .execute()
}

function notLocked(ctx: DbCtx) {
  return (eb: ExpressionBuilder<Schema, 'sign_in'>) =>
    eb.or([eb('locked_until', 'is', null), eb('locked_until', '<=', ctx.now)])
}

/** 15 minutes, then twice as long each time, up to a day. */
function lockFor(failures: number): number {
  return Math.min(FIRST_LOCK_MS * 2 ** (failures / FAILURES_UNTIL_LOCK - 1), MAX_LOCK_MS)
}
