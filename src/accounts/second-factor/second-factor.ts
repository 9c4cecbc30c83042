/**
 * The second factors of a person: one-time codes and passkeys. Whoever has one signs in with a password and a second factor, or with a
 * passkey alone. docs/sign-in-and-consent.md: Second factors.
 */

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

/** A right code, before the transaction that uses it up: of the app, or the hash of a recovery code. */
export type ValidCode = { totp: ValidTotp } | { recovery: string }

/** Checks what was typed as a code of the app or as a recovery code. Undefined: it is neither. */
export async function checkCode(ctx: Ctx, userId: string, typed: string): Promise<ValidCode | undefined> {
  const code = typed.replaceAll(/\s/g, '')
  if (/^\d{6}$/.test(code)) {
    const totp = await checkTotp(ctx, userId, code)
    return totp && { totp }
  }
  const recovery = await checkRecoveryCode(ctx.db, userId, code)
  return recovery === undefined ? undefined : { recovery }
}

/** Uses a code of this person up. False: it is of somebody else, or was used meanwhile. Each counts once, also under simultaneous calls. A recovery code is told by mail. */
export async function consumeCode(ctx: Ctx, userId: string, code: ValidCode): Promise<boolean> {
  if ('totp' in code) return consumeTotp(ctx, userId, code.totp)
  if (!(await consumeRecoveryCode(ctx.db, userId, code.recovery))) return false
  const left = await countRecoveryCodes(ctx.db, userId)
  await tell(
    ctx,
    userId,
    'A recovery code was used',
    `Somebody used one of your recovery codes to prove that they are you. ${left} are left.`,
  )
  return true
}

/** Tells the person that a factor was added. Gives their recovery codes when it makes them: with the first factor. */
export async function notifyFactorAdded(ctx: Ctx, userId: string, what: string): Promise<string[] | undefined> {
  await tell(ctx, userId, `${what} added`, `${what} added to your account as a second factor.`)
  return (await countRecoveryCodes(ctx.db, userId)) > 0 ? undefined : generateRecoveryCodes(ctx.db, userId)
}

/** Tells the person that a factor was removed. With the last one the recovery codes go. */
export async function notifyFactorRemoved(ctx: Ctx, userId: string, what: string): Promise<void> {
  const isLast = !(await hasSecondFactor(ctx.db, userId))
  if (isLast) await removeRecoveryCodes(ctx.db, userId)
  const after = isLast ? '\nYou have no second factor now: your password alone signs you in.\n' : ''
  await tell(ctx, userId, `${what} removed`, `${what} removed from your account.${after}`)
}

/** Makes new recovery codes in the place of the old ones, and tells the person. */
export async function regenerateRecoveryCodes(ctx: Ctx, userId: string): Promise<string[]> {
  await tell(
    ctx,
    userId,
    'New recovery codes',
    'New recovery codes were made for your account. The old ones no longer work.',
  )
  return generateRecoveryCodes(ctx.db, userId)
}

/** Removes all factors of a person who lost them; the operator does. The person is told by mail. False: the person had none, and stays as they are. */
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
    text: `${greeting(user)}\n\n${sentence}\n\nYou see your second factors here:\n\n${page}\n\nWas this not you? Set a new password, and tell whoever runs this service.\n`,
  })
}
