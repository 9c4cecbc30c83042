/** Permanent deletion of users and teams. The audit log keeps their ids; no row keeps email or name. docs/operations.md: User administration. */

import type { Input, OperatorCtx } from '../../context.ts'
import { lockUserWrites } from '../../platform/access/user-write-lock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { retainSlug } from '../accounts/slugs.ts'
import { endMembership } from '../members/members.ts'
import { emptyAccount } from './empty-account.ts'
import type { ForceQuery } from './schema.ts'

/** Tables that hold rows of a user, in addition to `token`. */
const OF_PERSON = [
  'session',
  'password_link',
  'email_change',
  'sign_in',
  'invitation',
  'totp',
  'passkey',
  'recovery_code',
  'half_sign_in',
  'site_session',
  'identity',
  'identity_link',
] as const

/**
 * Deletes a user with everything on their personal account. Refuses: last_owner 409 (without `force`; with it a team can be left without an OWNER),
 * and as `emptyAccount` does.
 */
export async function removeUser(ctx: OperatorCtx, user: Row<'account'>, { query }: Input<ForceQuery>): Promise<void> {
  const { db } = ctx
  const force = query.force === true
  await lockUserWrites(db, user.id)
  const teams = await db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.team_id')
    .selectAll('account')
    .where('member.user_id', '=', user.id)
    .execute()
  for (const team of teams) await endMembership(ctx, team, user.id, force ? 'removed' : 'ended')
  await emptyAccount(ctx, user, force)
  await db.deleteFrom('token').where('user_id', '=', user.id).where('configuration_id', 'is', null).execute()
  for (const table of OF_PERSON) {
    await db.deleteFrom(table).where('user_id', '=', user.id).execute()
  }
  const email = user.email ?? ''
  await db.deleteFrom('invitation').where('email', '=', email).execute()
  await db.deleteFrom('invitation').where('invited_by', '=', user.id).execute()
  // After the memberships, because their removal queues emails to owners, possibly to this one.
  await db.deleteFrom('mail').where('recipient', '=', email).execute()
  await removeAccount(ctx, user, [user.id])
}

/** Deletes a team with everything on it. Its slug stays reserved for its OWNERs. Refuses as `emptyAccount` does. */
export async function removeTeam(ctx: OperatorCtx, team: Row<'account'>, { query }: Input<ForceQuery>): Promise<void> {
  const { db } = ctx
  const members = await db.selectFrom('member').select(['user_id', 'role']).where('team_id', '=', team.id).execute()
  await emptyAccount(ctx, team, query.force === true)
  for (const { user_id } of members.toSorted((a, b) => a.user_id.localeCompare(b.user_id))) {
    await endMembership(ctx, team, user_id, 'removed')
  }
  await db.deleteFrom('invitation').where('team_id', '=', team.id).execute()
  const owners = members.filter(({ role }) => role === 'OWNER').map(({ user_id }) => user_id)
  await removeAccount(ctx, team, owners.length > 0 ? owners : [team.id])
}

async function removeAccount(ctx: OperatorCtx, { id, slug }: Row<'account'>, holders: string[]): Promise<void> {
  await ctx.db.deleteFrom('seen').where('id', '=', id).execute()
  const row = await ctx.db.deleteFrom('account').where('id', '=', id).returning('id').executeTakeFirst()
  if (row === undefined) refuse('not_found')
  for (const holder of holders) await retainSlug(ctx, slug, holder)
}
