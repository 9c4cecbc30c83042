/** Sessions of people in a browser: made at sign-in with a new secret, kept as a hash, ended by signing out, by time, or by a new password. */
import { SESSION_IDLE_MS } from '../access/session.ts'
import type { OperatorCtx } from '../context.ts'
import { fingerprint, randomText } from '../ids.ts'

const SESSION_MS = 7 * 86_400_000

/** Begins a session of a user. The answer is its secret, which is kept nowhere. */
export async function startSession(ctx: Pick<OperatorCtx, 'db' | 'now'>, userId: string): Promise<string> {
  const secret = randomText(43)
  const row = {
    hash: fingerprint(secret),
    user_id: userId,
    created_at: ctx.now,
    used_at: ctx.now,
    expires_at: ctx.now + SESSION_MS,
    confirmed_at: ctx.now,
  }
  await ctx.db.insertInto('session').values(row).execute()
  return secret
}

/** Notes that the person of a session proved again that it is them. */
export async function confirmSession(ctx: Pick<OperatorCtx, 'db' | 'now'>, sessionHash: string): Promise<void> {
  await ctx.db.updateTable('session').set({ confirmed_at: ctx.now }).where('hash', '=', sessionHash).execute()
}

/** Ends one session, if it is still there. */
export async function endSession(ctx: Pick<OperatorCtx, 'db'>, sessionHash: string): Promise<void> {
  await ctx.db.deleteFrom('session').where('hash', '=', sessionHash).execute()
}

/** Ends every session of a user. */
export async function endSessionsOf(ctx: Pick<OperatorCtx, 'db'>, userId: string): Promise<void> {
  await ctx.db.deleteFrom('session').where('user_id', '=', userId).execute()
}

/** Sweep: sessions that have ended by time. Asked by one moment after the other: each has its index. */
export async function forgetEndedSessions(ctx: OperatorCtx, limit: number): Promise<number> {
  let count = 0
  for (const [column, moment] of [
    ['expires_at', ctx.now],
    ['used_at', ctx.now - SESSION_IDLE_MS],
  ] as const) {
    const ended = ctx.db.selectFrom('session').select('hash').where(column, '<=', moment).orderBy(column).limit(limit)
    count += (await ctx.db.deleteFrom('session').where('hash', 'in', ended).returning('hash').execute()).length
  }
  return count
}
