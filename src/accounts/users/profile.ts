/** Changes of a user's own name, username and email, in the console only. docs/accounts.md: Your account. */
import { canStillGive } from '../../platform/access/offers.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { countSentEmail } from '../../platform/mail/sender-share.ts'
import type { UserPageCtx } from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { claimSlug, reserveSlug, unlessTaken } from '../accounts/slugs.ts'
import { followNewEmail } from './accounts.ts'

const LINK_MS = 24 * 3_600_000

/** Changes name and username. The old username stays reserved for 90 days. Refuses: slug_taken 409, too_many_slugs 409. */
export async function updateProfile(ctx: UserPageCtx, change: { name?: string | null; username?: string }) {
  const { userId, username: before } = ctx.user
  const { name, username = before } = change
  if (username !== before) {
    await claimSlug(ctx, username, userId)
    await reserveSlug(ctx, before, userId)
  }
  await unlessTaken({ slug: username, email: null }, () =>
    ctx.db
      .updateTable('account')
      .set({ ...(name !== undefined && { name }), slug: username })
      .where('id', '=', userId)
      .execute(),
  )
}

/**
 * Emails a link to the new address, to be opened by the signed-in user within 24 hours. Replaces an earlier link and notifies the current address, in
 * case the session was stolen. Refuses: missing_permission 403 (no mail server is set), rate_limited 429 (10 in an hour, or as `countSentEmail`).
 */
export async function requestEmailChange(ctx: UserPageCtx, typed: string): Promise<void> {
  const email = typed.toLowerCase()
  const { userId, username } = ctx.user
  if (ctx.deps.config.mail.smtp === undefined)
    refuse('missing_permission', 'On this service only the operator changes email addresses.')
  const { limits } = ctx.deps
  rejectIfExceeded(await limits.consume('email-changes', userId, ctx.now), ctx.now, 'changes of your email')
  await countSentEmail((name, owner) => limits.consume(name, owner, ctx.now), ctx.now, userId, email)
  const secret = randomText(43)
  const row = { hash: fingerprint(secret), email, expires_at: ctx.now + LINK_MS }
  await ctx.db
    .insertInto('email_change')
    .values({ user_id: userId, ...row })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(row))
    .execute()
  await queueMail(ctx, {
    recipient: email,
    asked: 'byOthers',
    subject: 'Confirm your email',
    text: `Hello ${username},\n\nopen this link within 24 hours, signed in, to make this address the email of your account:\n\n${ctx.deps.origin()}/console/account/email?link=${secret}\n\nIf you did not request this, ignore it: without the link nothing changes.\n`,
  })
  const now = await ctx.db.selectFrom('account').select('email').where('id', '=', userId).executeTakeFirstOrThrow()
  if (now.email === null || now.email === email) return
  await queueMail(ctx, {
    recipient: now.email,
    subject: 'A change of your email was requested',
    text: `Hello ${username},\n\na session of yours requested to make ${email} the email of your account. The link sent there confirms it.\n\nIf you did not request this, an attacker is signed in as you. Change your password now, which ends every other session: ${ctx.deps.origin()}/console/account/security\n`,
  })
}

/** Finds the new email of a link. Refuses: email_link_spent 404 (unknown, used, replaced, expired, or of another user). */
export async function findEmailChange(ctx: UserPageCtx, secret: string): Promise<Row<'email_change'>> {
  const row = await ctx.db
    .selectFrom('email_change')
    .selectAll()
    .where('user_id', '=', ctx.user.userId)
    .where('hash', '=', fingerprint(secret))
    .where('expires_at', '>', ctx.now)
    .executeTakeFirst()
  const giver = { userId: ctx.user.userId, accountId: ctx.user.userId, tokenId: null }
  if (row === undefined || !(await canStillGive(ctx, 'email link', giver))) refuse('email_link_spent')
  return row
}

/** Sets the new address, notifies the previous one and ends the links sent to it. Refuses: email_link_spent 404, email_taken 409. */
export async function confirmEmailChange(ctx: UserPageCtx, secret: string): Promise<void> {
  const { email } = await findEmailChange(ctx, secret)
  const { userId, username } = ctx.user
  const { db } = ctx
  const before = await db
    .selectFrom('account')
    .select(['email', 'slug'])
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  await unlessTaken({ slug: before.slug, email }, () =>
    db.updateTable('account').set({ email }).where('id', '=', userId).execute(),
  )
  await db.deleteFrom('email_change').where('user_id', '=', userId).execute()
  await followNewEmail(ctx, userId, email)
  if (before.email === null || before.email === email) return
  await queueMail(ctx, {
    recipient: before.email,
    subject: 'Your email was changed',
    text: `Hello ${username},\n\nthe email of your account has changed. If you did not do this, contact the operator of this service.\n`,
  })
}
