/** The account that an invited address lacks: what it may be called, and where an operator creates it. docs/accounts.md: Members. */
import { type Html, html } from '../../platform/pages/html.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import { copyButton } from '../controls.ts'
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
