/**
 * A single-use link for setting a password, valid for 24 hours. The operator requests it and the user gets it by email. docs/sign-in-and-consent.md:
 * Passwords and sessions.
 */

import type { OperatorCtx } from '../../context.ts'
import { canStillGive } from '../../platform/access/offers.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { greeting } from '../../platform/mail/text.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { endSessionsOf } from './sessions.ts'

const LINK_MS = 24 * 3_600_000

/**
 * Creates the link, emails it to the user and returns it. It replaces an earlier one. A link created in an operator's session is valid while that
 * user is an operator. Refuses: not_found 404.
 */
export async function createPasswordLink(ctx: OperatorCtx, user: Row<'account'>) {
  const secret = randomText(43)
  const expiresAt = ctx.now + LINK_MS
  const row = { hash: fingerprint(secret), user_id: user.id, expires_at: expiresAt, used_at: null }
  await ctx.db.deleteFrom('password_link').where('user_id', '=', user.id).execute()
  await ctx.db
    .insertInto('password_link')
    .values({ ...row, created_by: makerOf(ctx) })
    .execute()
  const url = `${ctx.deps.origin()}/set-password?link=${secret}`
  await queueMail(ctx, {
    recipient: user.email ?? '',
    asked: 'password',
    subject: 'Set your password',
    text: `${greeting(user)}\n\nopen this link to set your password and sign in. It works once, for 24 hours:\n\n${url}\n\nIf you did not expect this, ignore it: without the link nothing changes.\n`,
  })
  return { url, expiresAt }
}

/** The user whose session calls an operator route; null for the operator token. */
function makerOf({ actor }: OperatorCtx): string | null {
  return actor.id === actor.kind ? null : actor.id
}

/**
 * Finds the user of a link. Refuses: password_link_spent 404 (unknown, used, replaced or expired; the user is suspended; its creator is no longer an
 * operator).
 */
export async function findPasswordLink(ctx: Pick<OperatorCtx, 'db' | 'now'>, secret: string): Promise<Row<'account'>> {
  const found = await ctx.db
    .selectFrom('password_link')
    .innerJoin('account', 'account.id', 'password_link.user_id')
    .selectAll('account')
    .select('password_link.created_by')
    .where('password_link.hash', '=', fingerprint(secret))
    .where('password_link.used_at', 'is', null)
    .where('password_link.expires_at', '>', ctx.now)
    .executeTakeFirst()
  if (found === undefined) refuse('password_link_spent')
  const { created_by, ...user } = found
  await mustBeGood(ctx, { user_id: user.id, created_by })
  return user
}

/**
 * Consumes the link, sets the password, ends the user's sessions and lifts a lockout. Returns the user's id. Of concurrent calls, one succeeds.
 * `passwordHash`: null sets none, when passwords are disabled. Refuses: password_link_spent 404.
 */
export async function setPassword(ctx: OperatorCtx, secret: string, passwordHash: string | null): Promise<string> {
  const used = await ctx.db
    .updateTable('password_link')
    .set({ used_at: ctx.now })
    .where('hash', '=', fingerprint(secret))
    .where('used_at', 'is', null)
    .where('expires_at', '>', ctx.now)
    .returning(['user_id', 'created_by'])
    .executeTakeFirst()
  if (used === undefined) refuse('password_link_spent')
  await mustBeGood(ctx, used)
  if (passwordHash !== null) {
    const changed = { password_hash: passwordHash, failures: 0, locked_until: null }
    await ctx.db
      .insertInto('sign_in')
      .values({ user_id: used.user_id, ...changed })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(changed))
      .execute()
  }
  await endSessionsOf(ctx, used.user_id)
  return used.user_id
}

type Link = Pick<Row<'password_link'>, 'user_id' | 'created_by'>

/** Checked again in the transaction, because hashing takes time: the user may be suspended or the creator may have lost the operator role. */
async function mustBeGood(ctx: Pick<OperatorCtx, 'db' | 'now'>, { user_id, created_by }: Link): Promise<void> {
  const giver = { userId: user_id, accountId: user_id, tokenId: null, operatorId: created_by }
  if (!(await canStillGive(ctx, 'password link', giver))) refuse('password_link_spent')
}
