/** A link by which a user sets a password, once, within 24 hours. The operator asks for it; the user's mail brings it. docs/sign-in-and-consent.md: Passwords and sessions. */

import type { OperatorCtx } from '../../context.ts'
import { mayStillGive } from '../../platform/access/offers.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { greeting } from '../../platform/mail/text.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { endSessionsOf } from './sessions.ts'

const LINK_MS = 24 * 3_600_000

/**
 * Makes the link, mails it to the user and answers it. It takes the place of an earlier one. A link that a person made as an operator works
 * while they are one. Refuses: not_found 404.
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
    text: `${greeting(user)}\n\nopen this link to set the password with which you sign in. It works once, for 24 hours:\n\n${url}\n\nYou did not expect this? Then do nothing: without the link nothing changes.\n`,
  })
  return { url, expiresAt }
}

/** The person by whose session an operator's route is asked; null: by the operator token, which is nobody's. */
function makerOf({ actor }: OperatorCtx): string | null {
  return actor.id === actor.kind ? null : actor.id
}

/**
 * Whose password a link sets. Refuses: password_link_spent 404 (unknown, used, replaced, too old, of somebody who is suspended, made by
 * somebody who is no operator any more).
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
 * Uses up the link and sets the password. Every session of the user ends, and a lock is lifted. Gives the user's id. Of
 * several at once one does it. `passwordHash`: null where passwords are off, and then none is set. Refuses: password_link_spent 404.
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

/** The password may have been hashed for a while: a person who was suspended meanwhile sets none, nor does anybody by the link of a former operator. */
async function mustBeGood(ctx: Pick<OperatorCtx, 'db' | 'now'>, { user_id, created_by }: Link): Promise<void> {
  const giver = { userId: user_id, accountId: user_id, tokenId: null, operatorId: created_by }
  if (!(await mayStillGive(ctx, 'password link', giver))) refuse('password_link_spent')
}
