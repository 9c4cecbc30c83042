import { notifyFactorAdded } from '../../accounts/second-factor/second-factor.ts'
import { endOtherSessions } from '../../accounts/sign-in/sessions.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { html } from '../../platform/pages/html.ts'
import type { UserPageCtx, View } from '../../platform/pages/screen.ts'
import { copyButton } from '../controls.ts'
import { personPage } from '../frame.ts'

/** Path of the second factors page. */
export const FACTORS = '/console/account/security/factors'

/** Continues after a factor was added. The first one shows recovery codes and ends all other sessions, because they needed only a password. */
export async function afterFactorAdded(ctx: UserPageCtx, what: string): Promise<View> {
  const { userId, sessionHash } = ctx.user
  const codes = await notifyFactorAdded(ctx, userId, what)
  const done = { by: ctx, subjectId: userId }
  if (codes === undefined) return { redirectTo: FACTORS, audit: done }
  await endOtherSessions(ctx, userId, sessionHash)
  return { ...(await recoveryPage(ctx, codes)), audit: done }
}

/** Renders recovery codes. */
export function recoveryPage(ctx: UserPageCtx, codes: readonly string[]): Promise<View> {
  return personPage(ctx, 'security/factors', {
    title: 'Recovery codes',
    body: html`<div class="head"><h1>Recovery codes</h1></div>
<section class="card in stack"><p>Each code signs you in once if you lose your other second factors. You won't see them again: print them or store them in your password manager.</p>
<div class="code"><ul class="plain grow">${codes.map(
      (code) => html`<li><code>${code}</code></li>
`,
    )}</ul>${copyButton('recovery codes')}</div>
<p class="line"><a class="btn primary" href="${FACTORS}">I've saved them</a><a class="btn" href="data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}" download="berth-recovery-codes.txt">${icon('download')}Download</a></p></section>`,
  })
}
