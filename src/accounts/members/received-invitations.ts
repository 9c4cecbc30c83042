/** Answers to invitations, by the invited user only. */

import type { OperatorCtx } from '../../context.ts'
import { canStillGive } from '../../platform/access/offers.ts'
import { appendAuditEntry } from '../../platform/outbox/audit-chain.ts'
import { bidiIsolated } from '../../platform/pages/html.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { addMember } from './members.ts'

type DbCtx = Pick<OperatorCtx, 'db' | 'now' | 'stamp' | 'deps'>

/** An invitation as the invited user sees it. */
export type ReceivedInvitation = {
  id: string
  role: string
  expires_at: number
  team_id: string
  slug: string
  name: string | null
  inviter: string | null
  invited_by: string
  token_id: string | null
}

/** Returns the team's name and its unique slug. */
export function nameOfTeam({ name, slug }: Pick<ReceivedInvitation, 'name' | 'slug'>): string {
  return name === null || name === slug ? slug : `${bidiIsolated(name)} (${slug})`
}

/** Selects the pending invitations of a user, newest first. */
export function selectReceivedInvitations({ db, now }: Pick<DbCtx, 'db' | 'now'>, userId: string) {
  return db
    .selectFrom('invitation')
    .innerJoin('account as team', 'team.id', 'invitation.team_id')
    .leftJoin('account as inviter', 'inviter.id', 'invitation.invited_by')
    .select([
      'invitation.id',
      'invitation.role',
      'invitation.expires_at',
      'invitation.invited_by',
      'invitation.token_id',
      'team.id as team_id',
      'team.slug',
      'team.name',
    ])
    .select('inviter.slug as inviter')
    .where('invitation.user_id', '=', userId)
    .where('invitation.expires_at', '>', now)
    .orderBy('invitation.created_stamp', 'desc')
}

/** Finds an invitation of the user. Refuses: invitation_over 404 (also for an invitation of another user). */
export async function findReceivedInvitation(
  ctx: Pick<DbCtx, 'db' | 'now'>,
  userId: string,
  id: string,
): Promise<ReceivedInvitation> {
  const row = await selectReceivedInvitations(ctx, userId).where('invitation.id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('invitation_over')
  return row
}

/** Finds an invitation whose sender may still invite. Refuses: invitation_over 404. */
export async function findOffered(
  ctx: Pick<DbCtx, 'db' | 'now'>,
  userId: string,
  id: string,
): Promise<ReceivedInvitation> {
  const received = await findReceivedInvitation(ctx, userId, id)
  const giver = { userId: received.invited_by, accountId: received.team_id, tokenId: received.token_id }
  if (!(await canStillGive(ctx, 'invitation', giver))) refuse('invitation_over')
  return received
}

/**
 * Makes the user a member with the invitation's current role. One statement consumes the invitation, so it works once. An existing member keeps their
 * role. Refuses: invitation_over 404 (withdrawn, expired, team deleted, or the sender may no longer invite).
 */
export async function acceptInvitation(ctx: OperatorCtx, userId: string, id: string): Promise<ReceivedInvitation> {
  const received = await findOffered(ctx, userId, id)
  const role = await endInvitation(ctx, userId, id)
  if (await addMember(ctx, received.team_id, userId, role, 'accepted')) await noteJoined(ctx, received.team_id)
  return received
}

/** Adds an entry to the activity of the team. That of the answer itself is of no team, because it was made by no member. */
function noteJoined(ctx: OperatorCtx, teamId: string): Promise<void> {
  return appendAuditEntry(ctx, {
    stamp: ctx.deps.clock.stamp(),
    account_id: teamId,
    actor_kind: ctx.actor.kind,
    actor_id: ctx.actor.id,
    token_id: null,
    type: 'joined by invitation',
    subject_id: teamId,
    fields_json: '[]',
  })
}

/** Ends an invitation without a membership. Refuses: invitation_over 404. */
export async function declineInvitation(ctx: DbCtx, userId: string, id: string): Promise<ReceivedInvitation> {
  const received = await findReceivedInvitation(ctx, userId, id)
  await endInvitation(ctx, userId, id)
  return received
}

async function endInvitation(ctx: DbCtx, userId: string, id: string) {
  const used = await ctx.db
    .deleteFrom('invitation')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('expires_at', '>', ctx.now)
    .returning('role')
    .executeTakeFirst()
  if (used === undefined) refuse('invitation_over')
  return used.role
}
