/** The setup page: the first user sets a password and is signed in. docs/console.md: First start. */
import type { Static } from 'typebox'
import { html } from '../../platform/pages/html.ts'
import {
  csrfFields,
  type PageCtx,
  type Screen,
  type ScreenInput,
  screen,
  type View,
} from '../../platform/pages/screen.ts'
import { LinkQuery } from '../../platform/schema/fields.ts'
import {
  hashNewPassword,
  NewPassword,
  type NewPasswordResult,
  newPasswordFields,
  passwordFaultNotice,
} from './new-password.ts'
import { setPassword } from './password-link.ts'
import { afterPassword } from './verify-factor-page.ts'
import { findWelcomeLink } from './welcome-link.ts'

type Input = ScreenInput<Static<typeof LinkQuery>, Static<typeof NewPassword>>

export const welcomeScreens: readonly Screen[] = [
  screen({
    method: 'GET',
    path: '/welcome',
    name: 'showWelcome',
    query: LinkQuery,
    run: (ctx, input) => showWelcome(ctx, input),
    refuses: ['password_link_spent'],
  }),
  screen({
    method: 'POST',
    path: '/welcome',
    name: 'welcome',
    query: LinkQuery,
    form: NewPassword,
    prepare: async (ctx, { query, form }) => {
      const user = await findWelcomeLink(ctx, query.link ?? '')
      return hashNewPassword(ctx, form, user.id)
    },
    run: beginWith,
    refuses: ['password_link_spent', 'rate_limited'],
  }),
]

/** Opening the link does not consume it, because link scanners open it too. */
async function showWelcome(ctx: PageCtx, { query, url }: Pick<Input, 'query' | 'url'>, fault?: string) {
  const user = await findWelcomeLink(ctx, query.link ?? '')
  return {
    title: 'Welcome',
    body: html`<h1>Welcome to Berth</h1>
${passwordFaultNotice(fault)}
<p>You are the first user and the operator of this service. Your username is <strong>${user.slug}</strong>.</p>
<form method="post" action="${url}">
${csrfFields(ctx)}
${newPasswordFields(ctx, user.slug, fault)}
<p class="line"><button class="btn primary">${ctx.deps.config.passwords ? 'Set password and continue' : 'Continue'}</button></p>
</form>`,
  }
}

async function beginWith(ctx: PageCtx, input: Input, chosen: NewPasswordResult): Promise<View> {
  if ('fault' in chosen) return { ...(await showWelcome(ctx, input, chosen.fault)), status: 422 }
  await findWelcomeLink(ctx, input.query.link ?? '')
  const userId = await setPassword(ctx, input.query.link ?? '', chosen.passwordHash)
  return afterPassword(ctx, userId, {})
}
