import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { route } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { TeamRow } from '../accounts/teams.ts'
import { withdrawInvitation } from './invitations.ts'
import { acceptInvitation, findReceivedInvitation } from './received-invitations.ts'
import { findActingTeam, mustBeInTeam } from './team-members.ts'

const tag = 'accounts'

const JoinTeam = Type.Object({
  inviteCode: Type.String({
    maxLength: 64,
    description: 'the id of the invitation: the end of the link in the email',
  }),
})
const Joined = Type.Object({
  teamId: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  from: Type.String({ description: 'always `mail`' }),
})
const Withdrawn = Type.Object({ id: Type.String({ description: 'of the team' }) })

export const invitationRoutes = [
  route({
    method: 'POST',
    path: '/v1/teams/:idOrSlug/members/teams/join',
    operationId: 'joinTeam',
    summary: 'Accept an invitation to a team, as the invited user',
    tag,
    needs: ['member:leave'],
    body: JoinTeam,
    run: joinTeam,
    refuses: ['budget_used_up', 'too_many_teams', 'missing_permission', 'invitation_over'],
    status: 200,
    reply: Joined,
  }),
  route({
    method: 'DELETE',
    path: '/v1/teams/:idOrSlug/invites/:inviteId',
    operationId: 'deleteTeamInviteCode',
    summary: 'Take an invitation back',
    tag,
    needs: ['member:write'],
    load: findActingTeam,
    run: withdraw,
    refuses: ['not_found', 'missing_permission'],
    status: 200,
    reply: Withdrawn,
  }),
]

/** Requires a token with all permissions of its user. Refuses: missing_permission 403, invitation_over 404. */
async function joinTeam(
  ctx: Ctx,
  _: undefined,
  { params, body }: Input<unknown, Static<typeof JoinTeam>>,
): Promise<Static<typeof Joined>> {
  const { caller } = ctx
  if (caller.tokenTeamId !== null || caller.projectIds !== null || caller.installationId !== null) {
    refuse('missing_permission', 'This token is limited: it joins no team for its user.')
  }
  const { team_id, slug, name } = await findReceivedInvitation(ctx, caller.userId, body.inviteCode)
  if (params.idOrSlug !== team_id && params.idOrSlug !== slug) refuse('invitation_over')
  await acceptInvitation(ctx, caller.userId, body.inviteCode)
  return { teamId: team_id, slug, name: name ?? slug, from: 'mail' }
}

/** Refuses: missing_permission 403, not_found 404. */
async function withdraw(ctx: Ctx, team: TeamRow, { params }: Input): Promise<Static<typeof Withdrawn>> {
  mustBeInTeam(ctx, team, 'member:write')
  const id = params.inviteId ?? ''
  if (!(await withdrawInvitation(ctx, team.id, id))) {
    refuse('not_found', `No invitation "${id.slice(0, 100)}" to ${team.slug} waits for an answer.`)
  }
  return { id: team.id }
}
