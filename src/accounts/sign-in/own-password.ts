/** A person who is signed in changes their password, by the one that they have. docs/sign-in-and-consent.md: Passwords and sessions. */
import type { UserPageCtx } from '../../platform/pages/screen.ts'
import { canonicalPassword, passwordError } from './passwords.ts'
import { endOtherSessions } from './sessions.ts'
import { acceptPassword, checkPasswordLimited, type PasswordCheck } from './sign-in.ts'

export type PasswordChange = { password: string; next: string; again: string }
/** What is wrong with what was typed, and in which field; or what the present password proved, and the hash of the next one. */
export type PasswordChangeResult =
  | { field: keyof PasswordChange; fault: string }
  | { checked: PasswordCheck; passwordHash: string }

/** Checks the present password and hashes the next one, slowly, before the transaction. Refuses: rate_limited 429. */
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
 * Sets the password, and ends every other session of the person and the link that would set another one. False: the present password is
 * wrong, or was changed meanwhile; that is counted as at a sign-in.
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
