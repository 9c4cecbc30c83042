/** A signed-in user changes their password with the current one. docs/sign-in-and-consent.md: Passwords and sessions. */
import type { UserPageCtx } from '../../platform/pages/screen.ts'
import { canonicalPassword, passwordError } from './passwords.ts'
import { endOtherSessions } from './sessions.ts'
import { acceptPassword, checkPasswordLimited, type PasswordCheck } from './sign-in.ts'

export type PasswordChange = { password: string; next: string; again: string }
/** An error with its field, or the check of the current password and the hash of the new one. */
export type PasswordChangeResult =
  | { field: keyof PasswordChange; fault: string }
  | { checked: PasswordCheck; passwordHash: string }

/** Checks the current password and hashes the new one, before the transaction because both are slow. Refuses: rate_limited 429. */
export async function preparePassword(
  ctx: UserPageCtx,
  { password, next, again }: PasswordChange,
): Promise<PasswordChangeResult> {
  const fault = passwordError(next)
  if (fault !== undefined) return { field: 'next', fault }
  if (next !== again) return { field: 'again', fault: 'The two passwords are not the same.' }
  const checked = await checkPasswordLimited(ctx, ctx.user.username, password)
  const owner = { kind: 'account', owner: ctx.user.userId } as const
  const passwordHash = checked?.matches ? await ctx.deps.adapters.passwords.hash(canonicalPassword(next), owner) : ''
  return { checked, passwordHash }
}

/**
 * Sets the password, ends the user's other sessions and deletes pending password links. False when the current password is wrong or changed
 * meanwhile, which counts as a failed sign-in.
 */
export async function changePassword(
  ctx: UserPageCtx,
  { checked, passwordHash }: Extract<PasswordChangeResult, { checked: PasswordCheck }>,
): Promise<boolean> {
  const { userId, sessionHash } = ctx.user
  if ((await acceptPassword(ctx, checked)) !== userId) return false
  await ctx.db.updateTable('sign_in').set({ password_hash: passwordHash }).where('user_id', '=', userId).execute()
  await ctx.db.deleteFrom('password_link').where('user_id', '=', userId).execute()
  await endOtherSessions(ctx, userId, sessionHash)
  return true
}
