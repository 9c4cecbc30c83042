/** The account that an invited address lacks: what it may be called, and where an operator creates it. docs/accounts.md: Members. */
import type { Static } from 'typebox'
import type { CreatedPasswordLink } from '../../accounts/accounts/schema.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { button, copyButton } from '../controls.ts'
import { operatorPath } from '../operator/frame.ts'
import { relativeTime } from '../time.ts'

/** Returns a username made of the part of an email before the @; empty where that has no letter or digit. Someone may have it already. */
export function usernameFor(email: string): string {
  const [local = ''] = email.trim().toLowerCase().slice(0, 254).split(/[@+]/)
  return local
    .slice(0, 48)
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^[._-]+/, '')
    .replace(/(?<![._-])[._-]+$/, '')
}

/** Returns the page on which an operator creates the account of an address. */
export function newUserPath(email: string): string {
  return `${operatorPath('people')}/invite?email=${encodeURIComponent(email)}`
}

/** Whether this server sends email. */
export function sendsMail({ deps }: ConsoleCtx): boolean {
  return deps.config.mail.smtp !== undefined
}

/** Renders a new password link, once. Anyone with the link can set the password. */
export function passwordLink(
  ctx: ConsoleCtx,
  email: string,
  { url, expiresAt }: { url: string; expiresAt: number },
): Html {
  return html`<p>${sendsMail(ctx) ? html`Sent to <strong>${email}</strong>.` : "Email isn't set up on this server, so send it to them."} Single use, shown only once. Expires ${relativeTime(expiresAt, ctx.now)}.</p>
<div class="code"><pre class="secret">${url}</pre>${copyButton('link')}</div>`
}

/** Creates the password link of an account that was just created, or returns the refusal: the account stays either way. */
export async function linkOrRefusal(
  ctx: ConsoleCtx,
  userId: string,
): Promise<Static<typeof CreatedPasswordLink> | Refusal> {
  try {
    return await ctx.callRoute('operatorMakePasswordLink', { params: { userId } })
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Renders what an operator does next where an account was created without its link. */
export function createdWithoutLink(
  ctx: ConsoleCtx,
  { id, username }: { id: string; username: string },
  { message }: Refusal,
): Html {
  return html`${note(
    'warn',
    html`<p>The account <strong>${username}</strong> is created, but its password link is not: ${message}</p>
<p>Do not invite them again. Create the link here, or later on the page of ${username}.</p>`,
    { role: 'alert' },
  )}
${button(ctx, operatorPath('people', id, 'link'), 'Create password link', { look: 'primary', showsOnce: true })}`
}
