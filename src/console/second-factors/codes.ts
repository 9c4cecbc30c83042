import type { Static } from 'typebox'
import { notifyFactorRemoved } from '../../accounts/second-factor/second-factor.ts'
import {
  beginTotp,
  checkTotp,
  consumeTotp,
  findSetup,
  newTotpSecret,
  removeTotp,
  type Setup,
  type ValidTotp,
} from '../../accounts/second-factor/totp.ts'
import { note } from '../../platform/pages/face/notes.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html, markupOf } from '../../platform/pages/html.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import type { Refusal } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { formErrorOf } from '../action.ts'
import { personPage } from '../frame.ts'
import { showFactors } from './page.ts'
import { afterFactorAdded, FACTORS } from './shown-codes.ts'

const PATH = `${FACTORS}/codes`
const FirstCode = Type.Object({ code: Type.String({ maxLength: 100 }) })
type FirstCodeInput = ScreenInput<unknown, Static<typeof FirstCode>>

export const codeScreens: readonly Screen[] = [
  userScreen({
    method: 'POST',
    path: `${PATH}/begin`,
    name: 'beginOneTimeCodes',
    requiresReauthentication: true,
    prepare: newTotpSecret,
    run: begin,
  }),
  userScreen({
    method: 'GET',
    path: PATH,
    name: 'showOneTimeCodes',
    requiresReauthentication: true,
    run: (ctx) => showSetup(ctx),
  }),
  userScreen({
    method: 'POST',
    path: PATH,
    name: 'confirmOneTimeCodes',
    requiresReauthentication: true,
    form: FirstCode,
    prepare: (ctx, { form }) => checkTotp(ctx, ctx.user.userId, form.code.replaceAll(/\s/g, ''), true),
    run: confirm,
    renderErrors: showRefused,
  }),
  userScreen({
    method: 'POST',
    path: `${PATH}/remove`,
    name: 'removeOneTimeCodes',
    requiresReauthentication: true,
    run: remove,
  }),
]

async function begin(ctx: UserPageCtx, _: ScreenInput, secret: string): Promise<View> {
  const begun = await beginTotp(ctx, ctx.user.userId, secret)
  return { redirectTo: begun ? PATH : FACTORS }
}

async function showSetup(ctx: UserPageCtx, failed = false): Promise<View> {
  const setup = await findSetup(ctx, ctx.user)
  return setup === undefined ? { redirectTo: FACTORS } : setupPage(ctx, setup, failed)
}

async function showRefused(ctx: UserPageCtx, _: ScreenInput, refusal: Refusal): Promise<Page> {
  const setup = await findSetup(ctx, ctx.user)
  return setup === undefined ? showFactors(ctx, formErrorOf(refusal, {})) : setupPage(ctx, setup, true)
}

async function setupPage(ctx: UserPageCtx, { secret, uri }: Setup, failed: boolean): Promise<Page> {
  const { encodeQR } = await import('qr')
  const wrong = failed && html` aria-invalid="true" aria-describedby="fault"`
  return personPage(ctx, 'security/factors', {
    title: 'Set up one-time codes',
    status: failed ? 422 : undefined,
    body: html`<div class="head"><h1>Set up one-time codes</h1></div>
${failed && note('bad', html`<a href="#code">Wrong code. Check the clock of your phone and enter the code that the app shows now.</a>`, { role: 'alert', id: 'fault' })}
<section class="card in stack"><p>Scan this with an authenticator app, such as 1Password, Aegis or Google Authenticator, or enter the key below.</p>
<div class="qr" role="img" aria-label="QR code of the key">${markupOf(encodeQR(uri, 'svg'))}</div>
<p><code>${secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code></p>
<p class="soft small">On this device: <a href="${uri}">open the app</a></p>
<form class="stack" method="post" action="${PATH}" data-turbo="false">
${csrfFields(ctx)}
<div class="field"><label for="code">Code from your app</label>
<input type="text" id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required maxlength="100"${wrong}></div>
<p class="line"><button class="btn primary">Turn on</button><a class="btn" href="${FACTORS}">Cancel</a></p>
</form></section>`,
  })
}

async function confirm(ctx: UserPageCtx, _: FirstCodeInput, right: ValidTotp | undefined): Promise<View> {
  if (right === undefined || !(await consumeTotp(ctx, ctx.user.userId, right))) return showSetup(ctx, true)
  return afterFactorAdded(ctx, 'One-time codes were')
}

async function remove(ctx: UserPageCtx): Promise<View> {
  const { userId } = ctx.user
  if (!(await removeTotp(ctx, userId))) return { redirectTo: FACTORS }
  await notifyFactorRemoved(ctx, userId, 'One-time codes were')
  return { redirectTo: FACTORS, audit: { by: ctx, subjectId: userId } }
}
