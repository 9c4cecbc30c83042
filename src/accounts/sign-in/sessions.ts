/** Browser sessions of users. The secret is stored as a hash. A session ends by sign-out, expiry or a new password. */

import type { OperatorCtx } from '../../context.ts'
import { endOfSession } from '../../platform/access/session.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { endPendingSignInsOf } from './pending-sign-in.ts'

/** Per user; a new one replaces the oldest. */
const MAX_SESSIONS = 100
/** Characters that are stored of the `User-Agent`. */
const AGENT_LENGTH = 200

/** The browser and address of a new session. */
type Where = { agent?: string | undefined; address: string }

/** Starts a session and returns its secret, which is not stored. */
export async function startSession(
  ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now'> & Where,
  userId: string,
): Promise<string> {
  const secret = randomText(43)
  const user = await ctx.db.selectFrom('account').select('operator_at').where('id', '=', userId).executeTakeFirst()
  const begun = { createdAt: ctx.now, isOperator: user?.operator_at != null }
  const row = {
    hash: fingerprint(secret),
    user_id: userId,
    created_at: ctx.now,
    used_at: ctx.now,
    expires_at: endOfSession(ctx.deps.config.sessions, begun, ctx.now),
    confirmed_at: ctx.now,
    agent: ctx.agent?.slice(0, AGENT_LENGTH) ?? null,
    address: ctx.address,
  }
  await ctx.db.insertInto('session').values(row).execute()
  const outdated = await ctx.db
    .selectFrom('session')
    .select('hash')
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('hash')
    .offset(MAX_SESSIONS)
    .limit(MAX_SESSIONS)
    .execute()
  const hashes = outdated.map(({ hash }) => hash).filter((hash) => hash !== row.hash)
  if (hashes.length > 0) await ctx.db.deleteFrom('session').where('hash', 'in', hashes).execute()
  return secret
}

/** Records a reauthentication of the session's user. */
export async function markReauthenticated(ctx: Pick<OperatorCtx, 'db' | 'now'>, sessionHash: string): Promise<void> {
  await ctx.db.updateTable('session').set({ confirmed_at: ctx.now }).where('hash', '=', sessionHash).execute()
}

/** Ends one session, if it exists. */
export async function endSession(ctx: Pick<OperatorCtx, 'db'>, sessionHash: string): Promise<void> {
  await ctx.db.deleteFrom('session').where('hash', '=', sessionHash).execute()
}

/** Ends all sessions and pending sign-ins of a user. */
export async function endSessionsOf(ctx: Pick<OperatorCtx, 'db'>, userId: string): Promise<void> {
  await ctx.db.deleteFrom('session').where('user_id', '=', userId).execute()
  await endPendingSignInsOf(ctx.db, userId)
}

/** Ends all sessions of a user except one, and all pending sign-ins. */
export async function endOtherSessions(
  { db }: Pick<OperatorCtx, 'db'>,
  userId: string,
  keptHash: string,
): Promise<void> {
  await db.deleteFrom('session').where('user_id', '=', userId).where('hash', '!=', keptHash).execute()
  await endPendingSignInsOf(db, userId)
}

/** A session as its user sees it. `id`: a prefix of its hash, which cannot be used to sign in. */
export type OwnSession = Pick<Row<'session'>, 'created_at' | 'used_at' | 'agent' | 'address'> & {
  id: string
  hash: string
}

/** Lists the active sessions of a user, most recently used first, at most `MAX_LISTED`. */
export async function listSessionsOf(ctx: Pick<OperatorCtx, 'db' | 'now'>, userId: string): Promise<OwnSession[]> {
  const rows = await ctx.db
    .selectFrom('session')
    .select(['hash', 'created_at', 'used_at', 'agent', 'address'])
    .where('user_id', '=', userId)
    .where('expires_at', '>', ctx.now)
    .orderBy('used_at', 'desc')
    .limit(MAX_LISTED)
    .execute()
  return rows.map((row) => ({ ...row, id: row.hash.slice(0, ID_LENGTH) }))
}
const MAX_LISTED = 100
const ID_LENGTH = 16

/** Ends the session of a user with this id. Refuses: not_found 404 (also for a session of another user). */
export async function endOwnSession(ctx: Pick<OperatorCtx, 'db' | 'now'>, userId: string, id: string): Promise<void> {
  const session = (await listSessionsOf(ctx, userId)).find((entry) => entry.id === id)
  if (session === undefined) refuse('not_found', 'Session not found. It may have ended.')
  await endSession(ctx, session.hash)
}

/** Applies the shorter lifetime of operator sessions to the sessions of a new operator. */
export async function shortenSessions({ db, deps, now }: OperatorCtx, userId: string): Promise<void> {
  const end = now + deps.config.sessions.operatorIdleMs
  const longer = db.updateTable('session').set({ expires_at: end }).where('user_id', '=', userId)
  await longer.where('expires_at', '>', end).execute()
}
