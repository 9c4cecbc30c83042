import type { Static } from 'typebox'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import { csrfTokenOf } from '../../platform/pages/cookies.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { html } from '../../platform/pages/html.ts'
import { localPath } from '../../platform/pages/local-path.ts'
import { SavedFormField, savedFormField, savedFormPage } from '../../platform/pages/saved-form.ts'
import {
  csrfFields,
  type PageCtx,
  type Screen,
  type ScreenInput,
  screen,
  type View,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { PasskeyAnswer, passkeyForm } from '../second-factor/passkey-form.ts'
import { PASSKEY_SCRIPT } from '../second-factor/passkey-script.ts'
import { assertionOptions } from '../second-factor/passkeys.ts'
import { beginPendingSignIn, endPendingSignIn, findPendingSignIn } from './pending-sign-in.ts'
import { endSession, startSession } from './sessions.ts'
import { acceptFactor, acceptPasskey, checkFactorLimited, type FactorResult } from './verify-factor.ts'

const HOME = '/console'
const PATH = '/sign-in/code'
const Query = Type.Object({ return: Type.Optional(Type.String()) })
const Factor = Type.Object({
  code: Type.Optional(Type.String({ maxLength: 100 })),
  answer: Type.Optional(PasskeyAnswer),
  kept: SavedFormField,
})
const Passkey = Type.Object({ answer: PasskeyAnswer, kept: SavedFormField })
type Input = ScreenInput<Static<typeof Query>, Static<typeof Factor>>

/** The next page, and a form of another page that is carried along. */
type Onward = { return?: string | undefined; kept?: string | undefined }

export const secondStepScreens: readonly Screen[] = [
  screen({ method: 'GET', path: PATH, name: 'showSecondStep', query: Query, run: showStep }),
  screen({
    method: 'POST',
    path: PATH,
    name: 'signInSecondStep',
    query: Query,
    form: Factor,
    prepare: async (ctx, { form }) => checkFactorLimited(ctx, 'second step', await findPendingSignIn(ctx), form),
    run: finish,
    refuses: ['rate_limited'],
  }),
  screen({
    method: 'POST',
    path: '/sign-in/passkey',
    name: 'signInByPasskey',
    query: Query,
    form: Passkey,
    prepare: (ctx, { form }) => checkFactorLimited(ctx, 'sign in', undefined, form),
    run: signInByPasskey,
    refuses: ['rate_limited'],
  }),
]

/** Continues after a right password: to a session or to the second factor. Ends the browser's previous session and replaces its secret. */
export async function afterPassword(ctx: PageCtx, userId: string, onward: Onward): Promise<View> {
  if (!(await hasSecondFactor(ctx.db, userId))) return openSession(ctx, userId, onward)
  if (ctx.user) await endSession(ctx, ctx.user.sessionHash)
  const visit = await beginPendingSignIn(ctx, userId)
  const url = `${PATH}?return=${encodeURIComponent(onward.return ?? '')}`
  const next = { ...ctx, user: undefined, csrfToken: csrfTokenOf(visit) }
  const shown =
    onward.kept === undefined ? { redirectTo: url } : await stepPage(next, userId, { url, kept: onward.kept })
  return { ...shown, anonymousSession: visit, ...(ctx.user && { session: null }) }
}

async function openSession(ctx: PageCtx, userId: string, { return: back, kept }: Onward): Promise<View> {
  if (ctx.user) await endSession(ctx, ctx.user.sessionHash)
  const by = { ...ctx, actor: { kind: 'user', id: userId, tokenId: null } as const }
  const session = await startSession(ctx, userId)
  const next = savedFormPage(kept, csrfTokenOf(session)) ?? { redirectTo: localPath(back, HOME) }
  return { ...next, session, audit: { by, subjectId: userId } }
}

async function showStep(ctx: PageCtx, { query, url }: Pick<Input, 'query' | 'url'>): Promise<View> {
  if (ctx.user) return { redirectTo: localPath(query.return, HOME) }
  const userId = await findPendingSignIn(ctx)
  return userId === undefined ? { redirectTo: beginAgain(query) } : stepPage(ctx, userId, { url })
}

async function stepPage(
  ctx: PageCtx,
  userId: string,
  { url, kept, failed = false }: { url: string; kept?: string | undefined; failed?: boolean },
): Promise<View> {
  const options = await assertionOptions(ctx, 'second step', userId)
  const wrong = failed && html` aria-invalid="true" aria-describedby="fault"`
  return {
    title: 'Second step',
    ...(options && { scripts: [PASSKEY_SCRIPT] }),
    body: html`<h1>Second step</h1>
${failed && note('bad', html`<a href="#code">The code is wrong or was used, or the passkey took too long.</a>`, { role: 'alert', id: 'fault' })}
<p>Enter your second factor within ten minutes.</p>
${options && passkeyForm(ctx, { action: url, options, kind: 'get', button: 'Use a passkey', fields: savedFormField(kept) })}
<form method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${savedFormField(kept)}
<div class="field"><label for="code">Code from your app, or a recovery code</label>
<input type="text" id="code" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required maxlength="100"${wrong}></div>
<p class="line"><button class="btn primary">Sign in</button></p>
</form>
<p class="soft small">Lost your second factors? Your operator can remove them. <a href="/sign-in">Start again</a></p>`,
  }
}

async function finish(ctx: PageCtx, { query, form, url }: Input, checked: FactorResult): Promise<View> {
  const userId = await findPendingSignIn(ctx)
  if (userId === undefined) return { redirectTo: beginAgain(query) }
  if (!(await acceptFactor(ctx, userId, checked)))
    return { ...(await stepPage(ctx, userId, { url, kept: form.kept, failed: true })), status: 403 }
  await endPendingSignIn(ctx)
  return openSession(ctx, userId, { return: query.return, kept: form.kept })
}

async function signInByPasskey(
  ctx: PageCtx,
  { query, form }: ScreenInput<Static<typeof Query>, Static<typeof Passkey>>,
  checked: FactorResult,
): Promise<View> {
  const userId = await acceptPasskey(ctx, checked)
  if (userId !== undefined) return openSession(ctx, userId, { return: query.return, kept: form.kept })
  return {
    status: 403,
    title: 'Sign-in failed',
    body: html`<h1>Sign in</h1>
${note('bad', 'This passkey was not accepted: it is unknown, or it took longer than five minutes.', { role: 'alert' })}
<p><a href="${beginAgain(query)}">Try again</a></p>`,
  }
}

function beginAgain(query: Static<typeof Query>): string {
  return query.return === undefined ? '/sign-in' : `/sign-in?return=${encodeURIComponent(query.return)}`
}
