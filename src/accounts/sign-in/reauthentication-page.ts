/** Reauthentication before secrets are shown or the instance is changed. */

import type { Static } from 'typebox'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import { SAVED_FORM_SCRIPT } from '../../platform/pages/assets/assets.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { localPath } from '../../platform/pages/local-path.ts'
import { SavedFormField, savedFormField, savedFormPage } from '../../platform/pages/saved-form.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { PasskeyAnswer, passkeyForm } from '../second-factor/passkey-form.ts'
import { PASSKEY_SCRIPT } from '../second-factor/passkey-script.ts'
import { assertionOptions } from '../second-factor/passkeys.ts'
import { TypedPassword } from './new-password.ts'
import { providerButton } from './provider-button.ts'
import { markReauthenticated } from './sessions.ts'
import { acceptPassword, checkPasswordLimited, lockedUntil, type PasswordCheck } from './sign-in.ts'
import { acceptFactor, checkFactorLimited, type FactorResult } from './verify-factor.ts'

const HOME = '/console'
const Query = Type.Object({ return: Type.Optional(Type.String()) })
const Confirm = Type.Object({
  password: Type.Optional(TypedPassword),
  code: Type.Optional(Type.String({ maxLength: 100 })),
  answer: Type.Optional(PasskeyAnswer),
  kept: SavedFormField,
})
type Input = ScreenInput<Static<typeof Query>, Static<typeof Confirm>>
type Tried = { password?: PasswordCheck; factor?: FactorResult }

export const reauthenticationScreens: readonly Screen[] = [
  userScreen({ method: 'GET', path: '/confirm', name: 'showConfirm', query: Query, run: showConfirm }),
  userScreen({
    method: 'POST',
    path: '/confirm',
    name: 'confirmPassword',
    query: Query,
    form: Confirm,
    prepare: tryBoth,
    run: confirm,
    refuses: ['rate_limited'],
  }),
]

async function showConfirm(
  ctx: UserPageCtx,
  { url, query, savedForm }: Pick<Input, 'url' | 'query' | 'savedForm'>,
  failed = false,
): Promise<View> {
  const { userId } = ctx.user
  const needsCode = await hasSecondFactor(ctx.db, userId)
  const lockedTo = failed ? await lockedUntil(ctx, userId) : undefined
  const options = await assertionOptions(ctx, 'confirm', userId)
  const wrong = failed && html` aria-invalid="true" aria-describedby="fault"`
  return {
    title: 'Confirm that it is you',
    scripts: [
      ...(options === undefined ? [] : [PASSKEY_SCRIPT]),
      ...(savedForm === undefined ? [] : [SAVED_FORM_SCRIPT]),
    ],
    body: html`<h1>Confirm that it is you</h1>
${failed && note('bad', html`<a href="#password">${lockedTo === undefined ? faultOf(needsCode) : faultOfLock(lockedTo)}</a>`, { role: 'alert', id: 'fault' })}
<p>This page shows secrets or changes the server, so please confirm it's you. Berth asks once an hour.</p>
${options && passkeyForm(ctx, { action: url, options, kind: 'get', button: 'Use a passkey', fields: savedFormField(savedForm) })}
${providerButton(ctx, query.return, { again: true, kept: savedForm })}
${ctx.deps.config.passwords && passwordForm(ctx, { url, savedForm }, needsCode, wrong)}`,
  }
}

function passwordForm(
  ctx: UserPageCtx,
  { url, savedForm }: Pick<Input, 'url' | 'savedForm'>,
  needsCode: boolean,
  wrong: Html | false,
): Html {
  const { username } = ctx.user
  return html`<form method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${savedFormField(savedForm)}
<input type="text" name="username" value="${username}" autocomplete="username" hidden>
<div class="field"><label for="password">Password of ${username}</label>
<input type="password" id="password" name="password" autocomplete="current-password" required maxlength="1024"${wrong}></div>
${needsCode && codeField(wrong)}
<p class="line"><button class="btn primary">Continue</button></p>
</form>`
}

function faultOf(needsCode: boolean): string {
  return needsCode ? 'Wrong password or code, or the passkey was not accepted.' : 'The password is wrong.'
}

/** The reader is signed in, so this page may show the lockout. The sign-in page never does. */
function faultOfLock(until: number): string {
  const time = new Date(until).toISOString().slice(0, 16).replace('T', ' ')
  return `Too many wrong passwords or codes: both are locked until ${time} UTC. You can use a passkey. The operator can lift the lock with a link for a new password.`
}

function codeField(wrong: Html | false): Html {
  return html`<div class="field"><label for="code">Code from your app, or a recovery code</label>
<input type="text" id="code" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required maxlength="100"${wrong}></div>`
}

/** A passkey alone is enough. Otherwise requires the password, and a code if the user has a second factor. */
async function tryBoth(ctx: UserPageCtx, { form }: Input): Promise<Tried> {
  const { userId, username } = ctx.user
  if (form.answer !== undefined) return { factor: await checkFactorLimited(ctx, 'confirm', userId, form) }
  const password = await checkPasswordLimited(ctx, username, form.password ?? '')
  if (!(await hasSecondFactor(ctx.db, userId))) return { password }
  return { password, factor: await checkFactorLimited(ctx, 'confirm', userId, form) }
}

async function confirm(ctx: UserPageCtx, input: Input, tried: Tried): Promise<View> {
  const { userId, sessionHash } = ctx.user
  const { kept } = input.form
  if (!(await isProven(ctx, input, tried)))
    return { ...(await showConfirm(ctx, { ...input, savedForm: kept }, true)), status: 403 }
  await markReauthenticated(ctx, sessionHash)
  const next = savedFormPage(kept, ctx.csrfToken) ?? { redirectTo: localPath(input.query.return, HOME) }
  return { ...next, audit: { by: ctx, subjectId: userId } }
}

async function isProven(ctx: UserPageCtx, { form }: Input, { password, factor }: Tried): Promise<boolean> {
  const { userId } = ctx.user
  if (form.answer !== undefined) return acceptFactor(ctx, userId, factor)
  if ((await acceptPassword(ctx, password)) !== userId) return false
  return !(await hasSecondFactor(ctx.db, userId)) || acceptFactor(ctx, userId, factor)
}
