/** The second factors of a user: one-time codes and passkeys. docs/sign-in-and-consent.md: Second factors. */

import type { OperatorCtx } from '../../context.ts'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import type { Row } from '../../platform/db/schema.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { greeting } from '../../platform/mail/text.ts'
import {
  checkRecoveryCode,
  consumeRecoveryCode,
  countRecoveryCodes,
  generateRecoveryCodes,
  removeRecoveryCodes,
} from './recovery-codes.ts'
import { checkTotp, consumeTotp, removeTotp, type ValidTotp } from './totp.ts'

type Ctx = Pick<OperatorCtx, 'db' | 'deps' | 'now'>

/** A valid code, checked before the transaction that consumes it: of the app, or the hash of a recovery code. */
export type ValidCode = { totp: ValidTotp } | { recovery: string }

/** Checks a code of the app or a recovery code. Undefined when it is neither. */
export async function checkCode(ctx: Ctx, userId: string, typed: string): Promise<ValidCode | undefined> {
  const code = typed.replaceAll(/\s/g, '')
  if (/^\d{6}$/.test(code)) {
    const totp = await checkTotp(ctx, userId, code)
    return totp && { totp }
  }
  const recovery = await checkRecoveryCode(ctx.db, userId, code)
  return recovery === undefined ? undefined : { recovery }
}

/** Consumes a code of the user and sends an email for a recovery code. False when it is of another user or used. Of concurrent calls, one succeeds. */
export async function consumeCode(ctx: Ctx, userId: string, code: ValidCode): Promise<boolean> {
  if ('totp' in code) return consumeTotp(ctx, userId, code.totp)
  if (!(await consumeRecoveryCode(ctx.db, userId, code.recovery))) return false
  const left = await countRecoveryCodes(ctx.db, userId)
  await tell(
    ctx,
    userId,
    'A recovery code was used',
    `One of your recovery codes was used to sign in. ${left} are left.`,
  )
  return true
}

/** Emails the user about a new factor. Returns recovery codes with the first factor. */
export async function notifyFactorAdded(ctx: Ctx, userId: string, what: string): Promise<string[] | undefined> {
  await tell(ctx, userId, `${what} added`, `${what} added to your account as a second factor.`)
  return (await countRecoveryCodes(ctx.db, userId)) > 0 ? undefined : generateRecoveryCodes(ctx.db, userId)
}

/** Emails the user about a removed factor. Deletes the recovery codes with the last one. */
export async function notifyFactorRemoved(ctx: Ctx, userId: string, what: string): Promise<void> {
  const isLast = !(await hasSecondFactor(ctx.db, userId))
  if (isLast) await removeRecoveryCodes(ctx.db, userId)
  const after = isLast ? '\nYou have no second factor now: your password alone signs you in.\n' : ''
  await tell(ctx, userId, `${what} removed`, `${what} removed from your account.${after}`)
}

/** Replaces the recovery codes and emails the user. */
export async function regenerateRecoveryCodes(ctx: Ctx, userId: string): Promise<string[]> {
  await tell(
    ctx,
    userId,
    'New recovery codes',
    'New recovery codes were created for your account. The old ones no longer work.',
  )
  return generateRecoveryCodes(ctx.db, userId)
}

/** Removes all factors of a user who lost them, for the operator, and emails the user. False when the user had none. */
export async function removeSecondFactors(ctx: Ctx, user: Row<'account'>): Promise<boolean> {
  const had = await hasSecondFactor(ctx.db, user.id)
  await removeTotp(ctx, user.id)
  await ctx.db.deleteFrom('passkey').where('user_id', '=', user.id).execute()
  await removeRecoveryCodes(ctx.db, user.id)
  if (!had) return false
  await tell(
    ctx,
    user.id,
    'Your second factors were removed',
    'The operator of this service removed your one-time codes, passkeys and recovery codes. You are signed out everywhere. Your password alone signs you in now. Set up a second factor again.',
  )
  return true
}

async function tell(ctx: Ctx, userId: string, subject: string, sentence: string): Promise<void> {
  const user = await ctx.db
    .selectFrom('account')
    .select(['email', 'name', 'slug'])
    .where('id', '=', userId)
    .executeTakeFirst()
  if (!user?.email) return
  const page = `${ctx.deps.origin()}/console/account/security/factors`
  await queueMail(ctx, {
    recipient: user.email,
    subject,
    text: `${greeting(user)}\n\n${sentence}\n\nManage your second factors here:\n\n${page}\n\nIf this was not you, set a new password and contact the operator of this service.\n`,
  })
}
