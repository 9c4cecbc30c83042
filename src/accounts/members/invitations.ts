/**
 * Invitations to a team. Who is invited is in `invitation` and not in `member`, so that whoever reads memberships reads those that
 * the person accepted, and no other. docs/accounts.md: Members.
 */

import type { OperatorCtx } from '../../context.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import type { Role } from '../../platform/permissions/roles.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

const INVITATION_MS = 14 * 86_400_000

type DbCtx = Pick<OperatorCtx, 'db' | 'now' | 'stamp'>
type Team = Pick<Row<'account'>, 'id' | 'slug' | 'name'>
/** Who is invited: a user, or an address that nobody has yet. */
export type Invitee = { userId: string | null; email: string }

/**
 * Invites somebody, for 14 days, and mails the link to the page on which that person alone says yes or no. Gives the link too, where
 * no mail server is set: then who invites hands it over. Refuses: member_exists 409 (in the team already, or invited),
 * and as `mustFit` does.
 */
export async function createInvitation(
  ctx: OperatorCtx,
  team: Team,
  { userId, email }: Invitee,
  { role, invitedBy, tokenId }: { role: Role; invitedBy: string; tokenId: string | null },
): Promise<{ id: string; url: string | undefined }> {
  const ofTeam = ctx.db.deleteFrom('invitation').where('team_id', '=', team.id)
  await ofTeam.where('email', '=', email).where('expires_at', '<=', ctx.now).execute()
  const id = newId('inv')
  const row = await ctx.db
    .insertInto('invitation')
    .values({
      id,
      team_id: team.id,
      email,
      user_id: userId,
      role,
      invited_by: invitedBy,
      token_id: tokenId,
      expires_at: ctx.now + INVITATION_MS,
      created_stamp: ctx.stamp,
    })
    .onConflict((conflict) => conflict.columns(['team_id', 'email']).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (row === undefined) {
    refuse('member_exists', `${email} is invited already: take the invitation back first, or change its role.`)
  }
  await mustFit(ctx, 'invitations', team.id)
  const url = `${ctx.deps.origin()}/invitations/${id}`
  await mailInvitation(ctx, team, { email, role, invitedBy, url })
  return { id, url: ctx.deps.config.mail.smtp === undefined ? url : undefined }
}

async function mailInvitation(
  ctx: OperatorCtx,
  team: Team,
  invitation: { email: string; role: Role; invitedBy: string; url: string },
): Promise<void> {
  const inviter = await ctx.db
    .selectFrom('account')
    .select(['name', 'slug'])
    .where('id', '=', invitation.invitedBy)
    .executeTakeFirst()
  // What somebody may call themselves is in quotes, in lines that begin with our words: a stranger reads the first line as ours.
  const text = [
    `${inviter?.slug ?? 'Somebody'} invites you to the team ${team.slug} as ${invitation.role}.`,
    '',
    ...calls('Their name', inviter?.name, inviter?.slug),
    ...calls('The name of the team', team.name, team.slug),
    'Open this link within 14 days, sign in, and say yes or no:',
    '',
    invitation.url,
    '',
    'Until you say yes you are in no way part of the team. You have no user here yet? Whoever runs this service makes one for',
    'this address; the invitation waits for you.',
    'You did not expect this? Then do nothing, or say no.',
    '',
  ].join('\n')
  await queueMail(ctx, {
    asked: 'byOthers',
    recipient: invitation.email,
    subject: `Invitation to the team ${team.slug}`,
    text,
  })
}

function calls(what: string, name: string | null | undefined, slug: string | undefined): string[] {
  return name && name !== slug ? [`${what}: “${toSingleLine(name)}”`, ''] : []
}

/** The invitations of a team that still wait for an answer. */
export function pendingOf({ db, now }: Pick<DbCtx, 'db' | 'now'>, teamId: string) {
  return db.selectFrom('invitation').where('invitation.team_id', '=', teamId).where('invitation.expires_at', '>', now)
}

/** One of them, by the user who is invited or by its id; `undefined` when there is none. */
function pendingFor(ctx: DbCtx, teamId: string, email: string) {
  return pendingOf(ctx, teamId)
    .select('id')
    .where((eb) => eb.or([eb('id', '=', email), eb('user_id', '=', email)]))
}

/** Whether somebody is invited to the team, by their id or that of the invitation. */
export async function isInvited(ctx: DbCtx, teamId: string, email: string): Promise<boolean> {
  return (await pendingFor(ctx, teamId, email).executeTakeFirst()) !== undefined
}

/** Gives an invitation that waits another role. False when there is none. */
export async function updateInvitationRole(ctx: DbCtx, teamId: string, email: string, role: Role): Promise<boolean> {
  const changed = await ctx.db
    .updateTable('invitation')
    .set({ role })
    .where('id', 'in', pendingFor(ctx, teamId, email))
    .returning('id')
    .execute()
  return changed.length > 0
}

/** Takes back the invitation of somebody, by their id or that of the invitation. False when there is none. */
export async function withdrawInvitation(ctx: DbCtx, teamId: string, email: string): Promise<boolean> {
  const row = await ctx.db
    .deleteFrom('invitation')
    .where('id', 'in', pendingFor(ctx, teamId, email))
    .returning('id')
    .execute()
  return row.length > 0
}

/** What somebody offered in the name of a team ends with their right to: else they would come back by a friend. */
export async function withdrawInvitationsBy({ db }: Pick<DbCtx, 'db'>, teamId: string, userId: string): Promise<void> {
  await db.deleteFrom('invitation').where('team_id', '=', teamId).where('invited_by', '=', userId).execute()
}

/** Invitations to an address wait for whoever gets a user with it. Those to a team that the user is in end: nobody is a member and invited. */
export async function assignInvitationsToUser({ db }: Pick<DbCtx, 'db'>, email: string, userId: string): Promise<void> {
  const theirTeams = db.selectFrom('member').select('team_id').where('user_id', '=', userId)
  await db.deleteFrom('invitation').where('email', '=', email).where('team_id', 'in', theirTeams).execute()
  await db
    .updateTable('invitation')
    .set({ user_id: userId })
    .where('email', '=', email)
    .where('user_id', 'is', null)
    .execute()
}
