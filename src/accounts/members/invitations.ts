/** Invitations to a team. They have their own table, so memberships contain only users who accepted. docs/accounts.md: Members. */

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
/** A user, or an email address without a user. */
export type Invitee = { userId: string | null; email: string }

/**
 * Creates an invitation for 14 days and emails the link to the page that only the invited user can answer. Returns the link too, for instances
 * without a mail server. Refuses: member_exists 409 (member or invited), and as `mustFit` does.
 */
export async function createInvitation(
  ctx: OperatorCtx,
  team: Team,
  { userId, email }: Invitee,
  { role, invitedBy, tokenId }: { role: Role; invitedBy: string; tokenId: string | null },
): Promise<{ id: string; url: string | undefined }> {
  // Their address may have changed since: the unique index is of the address.
  if (userId !== null && (await isInvited(ctx, team.id, userId))) refuseSecond(email)
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
  if (row === undefined) refuseSecond(email)
  await mustFit(ctx, 'invitations', team.id)
  const url = `${ctx.deps.origin()}/invitations/${id}`
  await mailInvitation(ctx, team, { email, role, invitedBy, url })
  return { id, url: ctx.deps.config.mail.smtp === undefined ? url : undefined }
}

function refuseSecond(email: string): never {
  refuse('member_exists', `${email} is invited already: withdraw the invitation first, or change its role.`)
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
  // Names that users choose are quoted inside lines of Berth's own text, so a name cannot pose as a message of Berth.
  const text = [
    `${inviter?.slug ?? 'Somebody'} invites you to the team ${team.slug} as ${invitation.role}.`,
    '',
    ...calls('Their name', inviter?.name, inviter?.slug),
    ...calls('The name of the team', team.name, team.slug),
    'Open this link within 14 days, sign in, and accept or decline:',
    '',
    invitation.url,
    '',
    'Until you accept, you are not part of the team. If you have no account yet, the operator of this service can create one for',
    'this address; the invitation stays valid.',
    'If you did not expect this, ignore it or decline.',
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

/** Selects the pending invitations of a team. */
export function pendingOf({ db, now }: Pick<DbCtx, 'db' | 'now'>, teamId: string) {
  return db.selectFrom('invitation').where('invitation.team_id', '=', teamId).where('invitation.expires_at', '>', now)
}

/** By user id or invitation id. */
function pendingFor(ctx: DbCtx, teamId: string, email: string) {
  return pendingOf(ctx, teamId)
    .select('id')
    .where((eb) => eb.or([eb('id', '=', email), eb('user_id', '=', email)]))
}

/** Whether a pending invitation matches this user id or invitation id. */
export async function isInvited(ctx: DbCtx, teamId: string, email: string): Promise<boolean> {
  return (await pendingFor(ctx, teamId, email).executeTakeFirst()) !== undefined
}

/** Changes the role of a pending invitation. Returns false when no such invitation exists. */
export async function updateInvitationRole(ctx: DbCtx, teamId: string, email: string, role: Role): Promise<boolean> {
  const changed = await ctx.db
    .updateTable('invitation')
    .set({ role })
    .where('id', 'in', pendingFor(ctx, teamId, email))
    .returning('id')
    .execute()
  return changed.length > 0
}

/** Withdraws an invitation by user id or invitation id. Returns false when no such invitation exists. */
export async function withdrawInvitation(ctx: DbCtx, teamId: string, email: string): Promise<boolean> {
  const row = await ctx.db
    .deleteFrom('invitation')
    .where('id', 'in', pendingFor(ctx, teamId, email))
    .returning('id')
    .execute()
  return row.length > 0
}

/** Withdraws the invitations that a user sent for a team when they lose the right to invite. Otherwise they could return through an accomplice. */
export async function withdrawInvitationsBy({ db }: Pick<DbCtx, 'db'>, teamId: string, userId: string): Promise<void> {
  await db.deleteFrom('invitation').where('team_id', '=', teamId).where('invited_by', '=', userId).execute()
}

/** Assigns invitations to an address without a user to the user who gets it. Ends those to teams that have or invite the user already. */
export async function assignInvitationsToUser(
  { db, now }: Pick<DbCtx, 'db' | 'now'>,
  email: string,
  userId: string,
): Promise<void> {
  const joined = db.selectFrom('member').select('team_id').where('user_id', '=', userId)
  const invited = db.selectFrom('invitation').select('team_id').where('user_id', '=', userId)
  await db
    .deleteFrom('invitation')
    .where('email', '=', email)
    .where('user_id', 'is', null)
    .where((eb) => eb.or([eb('team_id', 'in', joined), eb('team_id', 'in', invited.where('expires_at', '>', now))]))
    .execute()
  await db
    .updateTable('invitation')
    .set({ user_id: userId })
    .where('email', '=', email)
    .where('user_id', 'is', null)
    .execute()
}
