/** Removing people and teams for good. The audit log keeps their ids; email and name are in no row afterwards. docs/operations.md: People. */

import type { Input, OperatorCtx } from '../../context.ts'
import { lockUserWrites } from '../../platform/access/user-write-lock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { retainSlug } from '../accounts/slugs.ts'
import { endMembership } from '../members/members.ts'
import { emptyAccount } from './empty-account.ts'
import type { ForceQuery } from './schema.ts'

/** The tables whose rows are a person's own, beside their tokens. */
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
 * Removes a user with all that is on their own account. Refuses: last_owner 409 (of a team; with `force` the team is left without an
 * OWNER), and what `emptyAccount` does.
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
  // After the memberships: the end of one is told to its owners, of whom this may be one.
  await db.deleteFrom('mail').where('recipient', '=', email).execute()
  await removeAccount(ctx, user, [user.id])
}

/**
 * Removes a team with all that it has; its slug is kept for its OWNERs. Refuses: what `emptyAccount` does.
 */
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
