/** Memberships: add, change role, remove. A team always has an OWNER. docs/accounts.md: Who changes members. */
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { membership } from '../../model/account.ts'
import { lockUserWrites } from '../../platform/access/user-write-lock.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { canOwnInstallations, type Role } from '../../platform/permissions/roles.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { revokeTeamAccess } from '../accounts/revoke-access.ts'
import { withdrawInvitation, withdrawInvitationsBy } from './invitations.ts'

type Team = Pick<Row<'account'>, 'id' | 'slug'>

/** `accepted`: by the user. `founder`: the team was created for them. `placed`: by the operator. */
type Consent = 'accepted' | 'founder' | 'placed'

/**
 * Adds a user to a team, which ends every invitation of the user to it. Returns false for a member, who keeps their role. Refuses as `mustFit` does:
 * too many members, or too many teams of the user.
 */
export async function addMember(
  ctx: Pick<OperatorCtx, 'db' | 'now' | 'stamp' | 'deps'>,
  teamId: string,
  userId: string,
  role: Role,
  consent: Consent,
): Promise<boolean> {
  await withdrawInvitation(ctx, teamId, userId)
  const added = await ctx.db
    .insertInto('member')
    .values({
      team_id: teamId,
      user_id: userId,
      role,
      created_stamp: ctx.stamp,
      placed_at: consent === 'placed' ? ctx.now : null,
      owner_put_at: consent !== 'accepted' && role === 'OWNER' ? ctx.now : null,
    })
    .onConflict((conflict) => conflict.columns(['team_id', 'user_id']).doNothing())
    .returning('user_id')
    .executeTakeFirst()
  if (added === undefined) return false
  // The operator and single sign-on rules place any user, without a limit.
  if (consent === 'accepted') {
    await mustFit(ctx, 'members', teamId)
    if (role === 'OWNER') await mustFit(ctx, 'teams', userId)
  }
  return true
}

/**
 * Changes a member's role. `by`: the OWNER who does it; undefined: the operator, or single sign-on. Below MEMBER it also calls `revokeTeamAccess`.
 * Refuses: not_found 404 (no member), last_owner 409.
 */
export async function changeRole(ctx: OperatorCtx, team: Team, userId: string, role: Role, by?: string): Promise<void> {
  await lockUserWrites(ctx.db, userId)
  if (by !== userId || role === 'OWNER') await acceptRole(ctx, team, userId, by)
  let change = ctx.db
    .updateTable('member')
    .set({ role, owner_put_at: putAt(ctx, role) })
    .where('team_id', '=', team.id)
    .where('user_id', '=', userId)
  if (role !== 'OWNER') change = change.where(anOwnerStays(team.id, userId, by === userId))
  const changed = await change.returning('user_id').executeTakeFirst()
  if (changed === undefined) await refuseToEnd(ctx, team, userId)
  if (role !== 'OWNER') await withdrawInvitationsBy(ctx, team.id, userId)
  if (!canOwnInstallations(role)) await revokeTeamAccess(ctx, team, userId, 'original-owner-role-downgraded')
}

/** Accepts the role of OWNER for `by`, who sets the role of an OWNER or removes one. So the team still has an OWNER who accepted it. */
async function acceptRole({ db }: Pick<OperatorCtx, 'db'>, team: Team, userId: string, by?: string): Promise<void> {
  if (by === undefined) return
  const owners = db.selectFrom('member as owner').select('owner.team_id').where('owner.role', '=', 'OWNER')
  await db
    .updateTable('member')
    .set({ owner_put_at: null })
    .where('team_id', '=', team.id)
    .where('user_id', '=', by)
    .where('owner_put_at', 'is not', null)
    .where('team_id', 'in', owners.where('owner.team_id', '=', team.id).where('owner.user_id', '=', userId))
    .execute()
}

/** Marks an OWNER who was appointed by others. */
function putAt(ctx: OperatorCtx, role: Role) {
  return role === 'OWNER' ? sql<number | null>`case when role = 'OWNER' then owner_put_at else ${ctx.now} end` : null
}

/**
 * Removes a user from a team and calls `revokeTeamAccess`. Their tokens stop acting for it at the commit, and tokens bound to the team are deleted,
 * so a returning user does not revive them. `by`: as of `changeRole`. Refuses: not_found 404 (no member), last_owner 409.
 */
export async function endMembership(
  ctx: OperatorCtx,
  team: Team,
  userId: string,
  how: Ending = 'ended',
  by?: string,
): Promise<void> {
  await lockUserWrites(ctx.db, userId)
  if (by !== userId) await acceptRole(ctx, team, userId, by)
  const anOwner = anOwnerStays(team.id, userId, how === 'left')
  const row = await ctx.db
    .deleteFrom('member')
    .where('team_id', '=', team.id)
    .where('user_id', '=', userId)
    .where((eb) => MAY_END[how](eb, anOwner(eb)))
    .returning('user_id')
    .executeTakeFirst()
  if (row === undefined) await refuseToEnd(ctx, team, userId)
  await ctx.db
    .updateTable('account')
    .set({ default_team_id: null })
    .where('id', '=', userId)
    .where('default_team_id', '=', team.id)
    .execute()
  await ctx.db
    .deleteFrom('token')
    .where('user_id', '=', userId)
    .where('team_id', '=', team.id)
    .where('configuration_id', 'is', null)
    .execute()
  await withdrawInvitationsBy(ctx, team.id, userId)
  await revokeTeamAccess(ctx, team, userId, 'original-owner-left-the-team')
}

/** `left`: by the member, which is allowed for a last OWNER who was appointed by others. `removed`: the account of the user or team is deleted. */
type Ending = 'ended' | 'left' | 'removed'

const MAY_END: Record<
  Ending,
  (eb: ExpressionBuilder<Schema, 'member'>, another: Expression<SqlBool>) => Expression<SqlBool>
> = {
  ended: (_, another) => another,
  left: (eb, another) => eb.or([another, eb('member.owner_put_at', 'is not', null)]),
  removed: (eb) => eb.lit(true),
}

/**
 * Part of the statement that ends the membership, so that two OWNERs cannot leave at the same time. `isOwnAct`: the OWNER gives up the role. Where
 * they accepted it, another OWNER must have accepted it too.
 */
function anOwnerStays(teamId: string, userId: string, isOwnAct: boolean) {
  return (eb: ExpressionBuilder<Schema, 'member'>) => {
    const others = eb
      .selectFrom('member as other')
      .select('other.user_id')
      .where('other.team_id', '=', teamId)
      .where('other.role', '=', 'OWNER')
      .where('other.user_id', '!=', userId)
    const another = eb.exists(others)
    const accepted = eb.or([
      eb('member.owner_put_at', 'is not', null),
      eb.exists(others.where('other.owner_put_at', 'is', null)),
    ])
    return eb.or([eb('member.role', '!=', 'OWNER'), isOwnAct ? eb.and([another, accepted]) : another])
  }
}

async function refuseToEnd(ctx: OperatorCtx, team: Team, userId: string): Promise<never> {
  if ((await membership(ctx, team.id, userId)) === undefined)
    refuse('not_found', `"${userId.slice(0, 100)}" is not a member of ${team.slug}.`)
  const others = ctx.db.selectFrom('member').select('user_id').where('team_id', '=', team.id)
  const other = await others.where('role', '=', 'OWNER').where('user_id', '!=', userId).executeTakeFirst()
  if (other === undefined) refuse('last_owner')
  refuse(
    'last_owner',
    'No other OWNER has accepted the role yet. They accept it by setting their own role to OWNER, or by changing yours.',
  )
}
