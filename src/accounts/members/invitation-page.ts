import type { Static } from 'typebox'
import { type Html, html } from '../../platform/pages/html.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import {
  acceptInvitation,
  declineInvitation,
  findOffered,
  nameOfTeam,
  type ReceivedInvitation,
  selectReceivedInvitations,
} from './received-invitations.ts'

const MAX_SHOWN = 100
const Answer = Type.Object({ answer: OneOf('accept', 'decline') })

export const invitationScreens: readonly Screen[] = [
  userScreen({ method: 'GET', path: '/invitations', name: 'showInvitations', run: showInvitations }),
  userScreen({
    method: 'GET',
    path: '/invitations/:invitationId',
    name: 'showInvitation',
    run: showInvitation,
    refuses: ['invitation_over'],
  }),
  userScreen({
    method: 'POST',
    path: '/invitations/:invitationId',
    name: 'answerInvitation',
    form: Answer,
    run: answerInvitation,
    refuses: ['invitation_over', 'budget_used_up', 'too_many_teams'],
  }),
]

async function showInvitations(ctx: UserPageCtx): Promise<View> {
  const received = await selectReceivedInvitations(ctx, ctx.user.userId).limit(MAX_SHOWN).execute()
  const rows = received.map(
    (invitation) =>
      html`<li><a href="/invitations/${invitation.id}">${nameOfTeam(invitation)}</a>, as ${roleName(invitation.role)}</li>`,
  )
  return {
    title: 'Invitations',
    body: html`<h1>Invitations</h1>
${rows.length === 0 ? html`<p>You have no pending invitations.</p>` : html`<ul>${rows}</ul>`}`,
  }
}

async function showInvitation(ctx: UserPageCtx, { params, url }: ScreenInput): Promise<View> {
  const received = await findOffered(ctx, ctx.user.userId, params.invitationId ?? '')
  return { title: `Invitation to ${received.slug}`, body: invitationForm(ctx, received, url) }
}

function invitationForm(ctx: UserPageCtx, received: ReceivedInvitation, url: string): Html {
  const { inviter, role, expires_at } = received
  return html`<h1>Join ${nameOfTeam(received)}?</h1>
<p>${inviter ?? 'Somebody'} invites you, <strong>${ctx.user.username}</strong>, to this team as <strong>${roleName(role)}</strong>. The invitation ends on
${new Date(expires_at).toISOString().slice(0, 10)}.</p>
<p>Until you accept, you are not part of the team. After that, its owners see your name and email.</p>
<form method="post" action="${url}">
${csrfFields(ctx)}
<p class="line"><button class="btn primary" name="answer" value="accept">Join the team</button>
<button class="btn" name="answer" value="decline">Decline</button></p>
</form>`
}

async function answerInvitation(
  ctx: UserPageCtx,
  { params, form }: ScreenInput<unknown, Static<typeof Answer>>,
): Promise<View> {
  const answer = form.answer === 'accept' ? acceptInvitation : declineInvitation
  const received = await answer(ctx, ctx.user.userId, params.invitationId ?? '')
  const isIn = form.answer === 'accept'
  return {
    title: `Invitation to ${received.slug}`,
    body: html`<h1>${isIn ? 'You are a member of' : 'You declined the invitation to'} ${nameOfTeam(received)}</h1>
<p class="line">${isIn && html`<a class="btn primary" href="/console/t/${encodeURIComponent(received.slug)}">Go to the team</a>`}<a href="/invitations">Show your invitations</a></p>`,
    audit: { by: ctx, subjectId: received.team_id },
  }
}

/** A role as the console says it: "Member". */
function roleName(role: string): string {
  return role.charAt(0) + role.slice(1).toLowerCase()
}
