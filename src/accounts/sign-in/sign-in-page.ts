import type { Static } from 'typebox'
import type { Row } from '../../platform/db/schema.ts'
import { SAVED_FORM_SCRIPT } from '../../platform/pages/assets/assets.ts'
import { note } from '../../platform/pages/face/notes.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { localPath } from '../../platform/pages/local-path.ts'
import { SavedFormField, savedFormField } from '../../platform/pages/saved-form.ts'
import {
  csrfFields,
  type PageCtx,
  type Screen,
  type ScreenInput,
  screen,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { LinkQuery } from '../../platform/schema/fields.ts'
import { selectReceivedInvitations } from '../members/received-invitations.ts'
import { passkeyForm } from '../second-factor/passkey-form.ts'
import { PASSKEY_SCRIPT } from '../second-factor/passkey-script.ts'
import { assertionOptions } from '../second-factor/passkeys.ts'
import {
  hashNewPassword,
  NewPassword,
  type NewPasswordResult,
  newPasswordFields,
  passwordFaultNotice,
  TypedPassword,
} from './new-password.ts'
import { findPasswordLink, setPassword } from './password-link.ts'
import { providerButton } from './provider-button.ts'
import { reauthenticationScreens } from './reauthentication-page.ts'
import { endSession, listSessionsOf } from './sessions.ts'
import { acceptPassword, checkPasswordLimited, FAILURES_UNTIL_LOCK, type PasswordCheck } from './sign-in.ts'
import { afterPassword, secondStepScreens } from './verify-factor-page.ts'
import { welcomeScreens } from './welcome-page.ts'

const HOME = '/console'
const SignInQuery = Type.Object({ return: Type.Optional(Type.String()) })
const SignIn = Type.Object({ name: Type.String({ maxLength: 254 }), password: TypedPassword, kept: SavedFormField })

type SignInInput = ScreenInput<Static<typeof SignInQuery>, Static<typeof SignIn>>
type PasswordInput = ScreenInput<Static<typeof LinkQuery>, Static<typeof NewPassword>>

export const accountScreens: readonly Screen[] = [
  screen({ method: 'GET', path: '/sign-in', name: 'showSignIn', query: SignInQuery, run: showSignIn }),
  screen({
    method: 'POST',
    path: '/sign-in',
    name: 'signIn',
    query: SignInQuery,
    form: SignIn,
    prepare: (ctx, { form }) => checkPasswordLimited(ctx, form.name, form.password),
    run: signIn,
    refuses: ['rate_limited'],
  }),
  userScreen({ method: 'POST', path: '/sign-out', name: 'signOut', run: signOut }),
  ...secondStepScreens,
  ...reauthenticationScreens,
  ...welcomeScreens,
  screen({
    method: 'GET',
    path: '/set-password',
    name: 'showSetPassword',
    query: LinkQuery,
    run: async (ctx, input) => passwordPage(ctx, input, await findPasswordLink(ctx, input.query.link ?? '')),
    refuses: ['password_link_spent'],
  }),
  screen({
    method: 'POST',
    path: '/set-password',
    name: 'setPassword',
    query: LinkQuery,
    form: NewPassword,
    prepare: async (ctx, { query, form }) => {
      const user = await findPasswordLink(ctx, query.link ?? '')
      return hashNewPassword(ctx, form, user.id)
    },
    run: choosePassword,
    refuses: ['password_link_spent', 'rate_limited'],
  }),
]

async function showSignIn(
  ctx: PageCtx,
  { query, url, savedForm }: ScreenInput<Static<typeof SignInQuery>>,
): Promise<View> {
  return ctx.user ? { redirectTo: localPath(query.return, HOME) } : signInPage(ctx, { query, url, savedForm })
}

async function signIn(ctx: PageCtx, { query, form, url }: SignInInput, checked: PasswordCheck): Promise<View> {
  const userId = await acceptPassword(ctx, checked)
  if (userId !== undefined) return afterPassword(ctx, userId, { return: query.return, kept: form.kept })
  const shown = await signInPage(ctx, { query, url, savedForm: form.kept, refused: form.name })
  return { ...shown, status: 403, title: 'Sign-in failed' }
}

type Shown = Pick<ScreenInput<Static<typeof SignInQuery>>, 'query' | 'url' | 'savedForm'> & {
  refused?: string | undefined
}

/** Shows every enabled sign-in method. `refused`: the name that was typed with a wrong password. */
async function signInPage(ctx: PageCtx, { query, url, savedForm, refused }: Shown): Promise<Page> {
  const options = await assertionOptions(ctx, 'sign in')
  const action = `/sign-in/passkey?return=${encodeURIComponent(query.return ?? '')}`
  return {
    title: 'Sign in',
    scripts: [
      ...(options === undefined ? [] : [PASSKEY_SCRIPT]),
      ...(savedForm === undefined ? [] : [SAVED_FORM_SCRIPT]),
    ],
    body: html`<h1>Sign in</h1>
${
  refused !== undefined &&
  note(
    'bad',
    html`<a href="#password">Wrong name or password.</a>
Sign-in locks for a while after ${FAILURES_UNTIL_LOCK} wrong passwords. Your operator can send a reset link.`,
    { role: 'alert', id: 'fault' },
  )
}
${providerButton(ctx, query.return, { kept: savedForm })}
${signInForm(ctx, url, { refused, savedForm })}
${options && passkeyForm(ctx, { action, options, kind: 'get', button: 'Sign in with a passkey', fields: savedFormField(savedForm) })}`,
  }
}

function signInForm(
  ctx: PageCtx,
  url: string,
  { refused, savedForm }: Pick<Shown, 'refused' | 'savedForm'>,
): Html | undefined {
  if (!ctx.deps.config.passwords) return undefined
  const failed = refused !== undefined && html` aria-describedby="fault"`
  return html`<form method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${savedFormField(savedForm)}
<div class="field"><label for="name">Email or username</label>
<input type="text" id="name" name="name" value="${refused}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="254"${failed}></div>
<div class="field"><label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" required maxlength="1024"${failed && html` aria-invalid="true"${failed}`}></div>
<p class="line"><button class="btn primary">Sign in</button></p>
</form>
<p class="soft small">No password, or forgot it? Ask your operator for a reset link.</p>`
}

async function signOut(ctx: PageCtx): Promise<View> {
  const { userId, sessionHash } = ctx.user!
  await endSession(ctx, sessionHash)
  return { redirectTo: '/sign-in', session: null, audit: { by: ctx, subjectId: userId } }
}

async function choosePassword(ctx: PageCtx, input: PasswordInput, chosen: NewPasswordResult): Promise<View> {
  if ('fault' in chosen) {
    const user = await findPasswordLink(ctx, input.query.link ?? '')
    return { ...(await passwordPage(ctx, input, user, chosen.fault)), status: 422 }
  }
  const userId = await setPassword(ctx, input.query.link ?? '', chosen.passwordHash)
  const by = { ...ctx, actor: { kind: 'user', id: userId, tokenId: null } as const }
  const next = await afterPassword(ctx, userId, { return: await onlyInvitation(ctx, userId) })
  return { ...next, audit: { by, subjectId: userId } }
}

/** Returns the page of the invitation that waits for the user; undefined for none and for several. */
async function onlyInvitation(ctx: PageCtx, userId: string): Promise<string | undefined> {
  const [first, another] = await selectReceivedInvitations(ctx, userId).limit(2).execute()
  return first === undefined || another !== undefined ? undefined : `/invitations/${first.id}`
}

async function passwordPage(ctx: PageCtx, { url }: { url: string }, user: Row<'account'>, fault?: string) {
  const isSignedIn = (await listSessionsOf(ctx, user.id)).length > 0
  return {
    title: 'Set your password',
    body: html`<h1>Set your password</h1>
${passwordFaultNotice(fault)}
<p>You sign in as <strong>${user.slug}</strong>.${isSignedIn && ' All your current sessions will end, and you are signed in here.'}</p>
<form method="post" action="${url}">
${csrfFields(ctx)}
${newPasswordFields(ctx, user.slug, fault)}
<p class="line"><button class="btn primary">${ctx.deps.config.passwords ? 'Set password' : 'Sign in'}</button></p>
</form>`,
  }
}
