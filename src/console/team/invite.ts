/** The invitation to a team. An operator creates the account that the invited address lacks by the same form. docs/accounts.md: Members. */
import type { Static } from 'typebox'
import type { OperatorUser } from '../../accounts/accounts/schema.ts'
import type { InvitedMember } from '../../accounts/members/schema.ts'
import type { RefusalKey } from '../../errors.ts'
import { note } from '../../platform/pages/face/notes.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { ROLES } from '../../platform/permissions/roles.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice, formErrorOf, PLAIN_TEXT } from '../action.ts'
import { copyButton, sentenceCase } from '../controls.ts'
import { select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, findAccountOfPath } from '../frame.ts'
import { createdWithoutLink, linkOrRefusal, newUserPath, passwordLink, usernameFor } from '../names/new-user.ts'
import { operatorPath } from '../operator/frame.ts'

const PATH = '/console/t/:slug/members/invite'
const Invitation = Type.Object({
  email: Type.String(),
  role: Type.String(),
  username: Type.Optional(Type.String()),
})
type Input = ScreenInput<unknown, Static<typeof Invitation>>
type Invited = Static<typeof InvitedMember>

/** docs/accounts.md: Roles. */
const ROLE_LABELS: Record<(typeof ROLES)[number], string> = {
  OWNER: 'Owner: full access, including settings, members and apps',
  MEMBER: 'Member: projects, including production, and webhooks',
  DEVELOPER: 'Developer: projects, except production variables',
  VIEWER: 'Viewer: read-only access to projects',
  BILLING: 'Billing: sees the team, but no projects',
}
const ROLE_CHOICES = ROLES.map((role) => [role, ROLE_LABELS[role]] as const).reverse()

export const inviteScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: PATH, name: 'consoleInvite', calls: [], run: showInvite }),
  action<typeof Invitation, Invited>({
    path: PATH,
    name: 'consoleInviteMember',
    form: Invitation,
    calls: 'inviteUserToTeam',
    renderCalls: ['operatorCreateUser', 'operatorMakePasswordLink'],
    request: ({ params, form }) => ({
      params: { idOrSlug: params.slug! },
      body: { email: form.email.trim(), role: form.role },
    }),
    next: (invited, input, ctx) => showInvited(ctx, invited, input),
    renderErrors: showInvite,
  }),
]

async function showInvite(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const { isOperator } = ctx.user
  const hint = isOperator ? 'Without an account, they get one.' : "They don't need an account yet."
  return accountPage(ctx, account, 'members', {
    title: 'Invite member',
    body: html`<div class="head"><h1>Invite member</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${field('email', 'Email', { type: 'email', required: true, error, hint, attributes: html` autocomplete="off" maxlength="254"` })}
${select('role', 'Role', ROLE_CHOICES, { error, value: 'MEMBER' })}
${isOperator && usernameField({ error, hint: 'For a new user. Empty: the part of the email before the @.' })}
<p class="line"><button class="btn primary">Invite</button><a class="btn" href="${accountPath(account, 'members')}">Cancel</a></p>
</form>`,
  })
}

function usernameField(options: { error?: FormError | undefined; hint: string; value?: string }): Html {
  return field('username', 'Username', { ...options, attributes: PLAIN_TEXT })
}

async function showInvited(ctx: ConsoleCtx, invited: Invited, { params, form }: Input): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const { email, role, username } = invited
  const next = username === '' ? await accountPart(ctx, invited, form, account.slug) : invitationLink(invited)
  return accountPage(ctx, account, 'members', {
    title: 'Invited',
    body: html`<div class="head"><h1>${email} is invited</h1></div>
<section class="card in stack"><p>They join as <strong>${sentenceCase(role)}</strong> when they accept. Expires in 14 days.</p>
${next}</section>
<p><a class="btn primary" href="${accountPath(account, 'members')}">Back to members</a></p>`,
  })
}

function invitationLink({ inviteUrl }: Invited): Html {
  return inviteUrl === undefined
    ? html`<p>The link was sent to them by email.</p>`
    : html`<p>Email isn't set up on this server, so send them this link. It grants nothing until they sign in and accept.</p>
<div class="code"><pre class="secret">${inviteUrl}</pre>${copyButton('link')}</div>`
}

/** What comes next for an address without a user. */
async function accountPart(ctx: ConsoleCtx, invited: Invited, form: Input['form'], team: string): Promise<Html> {
  if (!ctx.user.isOperator) return requestToOperator(ctx, invited, team)
  const username = form.username?.trim() || usernameFor(invited.email)
  try {
    const body = { email: invited.email, username }
    const user = await ctx.callRoute<Static<typeof OperatorUser>>('operatorCreateUser', { body })
    const link = await linkOrRefusal(ctx, user.id)
    if (link instanceof Refusal) return createdWithoutLink(ctx, user, link)
    return html`<h2>Link to come in</h2>
<p>The account <strong>${user.username}</strong> is created. With this link they set a password, are signed in, and answer the invitation.</p>
${passwordLink(ctx, invited.email, link)}`
  } catch (error) {
    if (!(error instanceof Refusal) || !CORRECTED_BY_FORM.has(error.key)) throw error
    return accountForm(ctx, invited.email, username, error)
  }
}

/** Refusals of the account that the operator corrects in its own form. The invitation stands. */
const CORRECTED_BY_FORM: ReadonlySet<RefusalKey> = new Set([
  'bad_request',
  'slug_taken',
  'email_taken',
  'sign_in_again',
])

function accountForm(ctx: ConsoleCtx, email: string, username: string, refusal: Refusal): Html {
  const isStale = refusal.key === 'sign_in_again'
  const error = isStale ? undefined : { ...formErrorOf(refusal, { username }), field: 'username' }
  return html`<h2>They have no account yet</h2>
${error && note('bad', error.message, { role: 'alert', id: 'fault' })}
<form class="stack" method="post" action="${operatorPath('people')}/invite" data-turbo="false">
${csrfFields(ctx)}<input type="hidden" name="email" value="${email}">
${usernameField({ value: username, error, hint: `Creates the account, and a link to set a password.${isStale ? ' You confirm your password first.' : ''}` })}
<p class="line"><button class="btn primary">Create the account</button></p></form>`
}

/** The list of members says the same of the address: it has no username. */
function requestToOperator(ctx: ConsoleCtx, { email, inviteUrl }: Invited, team: string): Html {
  const origin = ctx.deps.origin()
  const text = `${email} is invited to the team ${team} and has no account on ${origin} yet. Please create it: ${origin}${newUserPath(email)}`
  return html`<h2>They have no account on this server yet</h2>
<p>An operator of this server has to create it. Send them this:</p>
<div class="code"><pre>${text}</pre>${copyButton('text')}</div>
<p>The invitation waits. ${inviteUrl === undefined ? 'It was also sent to them by email.' : html`They answer it once they have signed in: <a href="${inviteUrl}">${inviteUrl}</a>`}</p>`
}
