/**
 * Password sign-in with a lockout after repeated failures. Responses never reveal whether a user exists. docs/sign-in-and-consent.md: Passwords and
 * sessions.
 */
import { type ExpressionBuilder, sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import type { HashOwner } from '../../platform/adapters/hash-turns.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Schema } from '../../platform/db/schema.ts'
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import type { PageCtx } from '../../platform/pages/screen.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { canonicalPassword } from './passwords.ts'

/** Consecutive failures before a lockout, and between further ones. */
export const FAILURES_UNTIL_LOCK = 10
/** Row that counts failures of unknown users. */
const UNKNOWN_USER = 'nobody'
const FIRST_LOCK_MS = 15 * 60_000
const MAX_LOCK_MS = 24 * 3_600_000

/** The result of a password check, made before the transaction that accepts it. */
export type PasswordCheck = { userId: string; passwordHash: string | null; matches: boolean } | undefined

type DbCtx = Pick<OperatorCtx, 'db' | 'now'>
type FailureCtx = Pick<OperatorCtx, 'db' | 'now' | 'deps' | 'actor'>

/**
 * Checks a password of a sign-in. Consumes the address's limit first, so parallel tries cannot exceed it, and refunds it for a right or unchecked
 * password. Queues a signed-in user by user, others by address. Refuses: rate_limited 429, before the check.
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

/** Checks a password, in equal time for unknown users. Refuses: rate_limited 429 (platform/adapters/passwords.ts). */
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
 * Accepts a checked password unless the user is locked out or the password has changed; counts a failure. Returns the user's id; undefined for wrong,
 * locked and unknown alike. Resets the count only without a second factor, or codes could be guessed without limit.
 */
export async function acceptPassword(ctx: FailureCtx, checked: PasswordCheck): Promise<string | undefined> {
  const admitted = checked?.matches ? await clearLock(ctx, checked) : undefined
  if (admitted === undefined) await countFailure(ctx, checked?.userId ?? UNKNOWN_USER)
  return admitted
}

async function clearLock(
  ctx: DbCtx,
  { userId, passwordHash }: NonNullable<PasswordCheck>,
): Promise<string | undefined> {
  // Read in the transaction of the session, so a user who was suspended meanwhile gets none.
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

/** Whether a user is suspended or deleted. */
export async function isSuspended({ db }: Pick<DbCtx, 'db'>, userId: string): Promise<boolean> {
  const user = await db.selectFrom('account').select('suspended_at').where('id', '=', userId).executeTakeFirst()
  return user?.suspended_at !== null
}

/** Whether a user can sign in with a password. */
export async function hasPassword(db: Queries, userId: string): Promise<boolean> {
  const row = await db.selectFrom('sign_in').select('password_hash').where('user_id', '=', userId).executeTakeFirst()
  return row != null && row.password_hash !== null
}

/** Whether failed attempts lock a user out now. A user without a password has no count before their first wrong code. */
export async function isLocked(ctx: DbCtx, userId: string): Promise<boolean> {
  return (await lockedUntil(ctx, userId)) !== undefined
}

/** Returns the end of a lockout in ms, or undefined. Only the user may see it. */
export async function lockedUntil({ db, now }: DbCtx, userId: string): Promise<number | undefined> {
  const locked = db
    .selectFrom('sign_in')
    .select('locked_until')
    .where('user_id', '=', userId)
    .where('locked_until', '>', now)
  return (await locked.executeTakeFirst())?.locked_until ?? undefined
}

/** Resets the count of failures after a complete sign-in. */
export async function clearFailures({ db }: Pick<DbCtx, 'db'>, userId: string): Promise<void> {
  await db.updateTable('sign_in').set({ failures: 0, locked_until: null }).where('user_id', '=', userId).execute()
}

/** Counts a wrong code after a right first factor. The user may have no password, when a link or the provider signed them in. */
export async function countWrongCode(ctx: FailureCtx, userId: string): Promise<void> {
  await ctx.db
    .insertInto('sign_in')
    .values({ user_id: userId, password_hash: null, failures: 0, locked_until: null })
    .onConflict((conflict) => conflict.column('user_id').doNothing())
    .execute()
  await countFailure(ctx, userId, true)
}

/**
 * Does not count attempts during a lockout, so an attacker cannot extend it forever. Nor wrong passwords of users without one, so an attacker cannot
 * lock their codes.
 */
async function countFailure(ctx: FailureCtx, userId: string, isCode = false): Promise<void> {
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
  await auditLock(ctx, userId)
}

/** One entry for each lockout: an entry for each failure would let anyone fill the audit log. */
function auditLock(ctx: FailureCtx, userId: string): Promise<void> {
  return appendAuditEntry(ctx, {
    stamp: ctx.deps.clock.stamp(),
    account_id: null,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: null,
    type: 'lockSignIn',
    subject_id: userId,
    fields_json: '[]',
  })
}

/** Writes as much as for a known user, so that response times do not reveal who exists or is locked. */
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

/** 15 minutes, doubled each time, up to a day. */
function lockFor(failures: number): number {
  return Math.min(FIRST_LOCK_MS * 2 ** (failures / FAILURES_UNTIL_LOCK - 1), MAX_LOCK_MS)
}
