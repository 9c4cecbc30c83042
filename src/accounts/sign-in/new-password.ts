import type { Static } from 'typebox'
import type { OperatorCtx } from '../../context.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { Type } from '../../platform/schema/builder.ts'
import {
  canonicalPassword,
  MAX_PASSWORD_LENGTH,
  MIN_PASSWORD_LENGTH,
  PASSWORD_RULE,
  passwordError,
} from './passwords.ts'

/** Longer than any password, short enough to limit the cost of hashing. */
export const TypedPassword = Type.String({ maxLength: 1024 })
/** Both are present when passwords are enabled. */
export const NewPassword = Type.Object({ password: Type.Optional(TypedPassword), again: Type.Optional(TypedPassword) })

/** An error, or the hash: null when passwords are disabled. */
export type NewPasswordResult = { fault: string } | { passwordHash: string | null }

/** Checks and hashes a new password in the user's queue. Refuses: rate_limited 429 (platform/adapters/passwords.ts). */
export async function hashNewPassword(
  { deps }: Pick<OperatorCtx, 'deps'>,
  form: Static<typeof NewPassword>,
  userId: string,
): Promise<NewPasswordResult> {
  if (!deps.config.passwords) return { passwordHash: null }
  const { password = '', again } = form
  const fault = passwordError(password)
  if (fault !== undefined) return { fault }
  if (password !== again) return { fault: 'The two passwords are not the same.' }
  return {
    passwordHash: await deps.adapters.passwords.hash(canonicalPassword(password), { kind: 'account', owner: userId }),
  }
}

/** Renders the error above the form, if any. */
export function passwordFaultNotice(fault: string | undefined): Html | undefined {
  return fault === undefined
    ? undefined
    : note('bad', html`<a href="#password">${fault}</a>`, { role: 'alert', id: 'fault' })
}

/** Renders the two password fields and a hidden user name for password managers. Renders a note instead when passwords are disabled. */
export function newPasswordFields(
  { deps }: Pick<OperatorCtx, 'deps'>,
  username: string,
  fault: string | undefined,
): Html {
  if (!deps.config.passwords) return html`<p>Passwords are off here. This link signs you in, once.</p>`
  const failed = fault && html` aria-invalid="true"`
  return html`<input type="text" name="username" value="${username}" autocomplete="username" hidden>
<div class="field"><label for="password">New password</label>
<p class="soft small" id="rule">${PASSWORD_RULE}</p>
<input type="password" id="password" name="password" autocomplete="new-password" required minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH * 4}" aria-describedby="rule${fault && ' fault'}"${failed}></div>
<div class="field"><label for="again">Confirm password</label>
<input type="password" id="again" name="again" autocomplete="new-password" required maxlength="${MAX_PASSWORD_LENGTH * 4}"${failed}></div>`
}
