/** Recovery codes as they are shown, once. */

import { notifyFactorAdded } from '../../accounts/second-factor/second-factor.ts'
import { endOtherSessions } from '../../accounts/sign-in/sessions.ts'
import { html } from '../../platform/pages/html.ts'
import type { UserPageCtx, View } from '../../platform/pages/screen.ts'
import { consolePage } from '../frame.ts'

/** The page of the second factors. */
export const FACTORS = '/console/account/security/factors'

/** What follows a factor that was added: the recovery codes with the first one, which also signs out everywhere else. Whoever got in there gave a password alone. */
export async function afterFactorAdded(ctx: UserPageCtx, what: string): Promise<View> {
  const { userId, sessionHash } = ctx.user
  const codes = await notifyFactorAdded(ctx, userId, what)
  const done = { by: ctx, subjectId: userId }
  if (codes === undefined) return { redirectTo: FACTORS, audit: done }
  await endOtherSessions(ctx, userId, sessionHash)
  return { ...(await recoveryPage(ctx, codes)), audit: done }
}

/** The page with the codes. */
export function recoveryPage(ctx: UserPageCtx, codes: readonly string[]): Promise<View> {
  return consolePage(
    ctx,
    { person: true, tab: 'security/factors' },
    {
      title: 'Recovery codes',
      body: html`<div class="top"><h1>Recovery codes</h1></div>
<section class="card"><p>Each of these signs you in once when you have lost your other second factors. They are shown this once: print them, or keep them where you keep passwords.</p>
<ul class="plain">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<p class="actions"><a class="button" href="${FACTORS}">I have kept them</a></p></section>`,
    },
  )
}
