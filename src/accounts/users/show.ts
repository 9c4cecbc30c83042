import type { Static } from 'typebox'
import type { OperatorCtx } from '../../context.ts'
import { rowCount } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { listPasskeys } from '../second-factor/passkeys.ts'
import { hasTotp } from '../second-factor/totp.ts'
import { listAllTokens, showTeamRow, showUserInList } from './list.ts'
import type { TeamDetails, UserDetails } from './schema.ts'

/** Sessions and tokens of a user that are shown. */
export const MAX_OF_USER = 100
const MAX_MEMBERS = 1000

/** Returns a user with teams, sessions and tokens, without token values. */
export async function showUserDetails(ctx: OperatorCtx, user: Row<'account'>): Promise<Static<typeof UserDetails>> {
  const { db } = ctx
  const lastSeen = await db.selectFrom('seen').select('at').where('id', '=', user.id).executeTakeFirst()
  const teams = await db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.team_id')
    .select(['account.id', 'account.slug', 'member.role', 'member.placed_at'])
    .where('member.user_id', '=', user.id)
    .orderBy('account.slug')
    .limit(MAX_MEMBERS)
    .execute()
  const sessions = await db
    .selectFrom('session')
    .select(['created_at as createdAt', 'used_at as usedAt', 'expires_at as expiresAt', 'agent', 'address'])
    .where('user_id', '=', user.id)
    .where('expires_at', '>', ctx.now)
    .limit(MAX_OF_USER)
    .execute()
  const query = { userId: user.id, limit: MAX_OF_USER }
  const { tokens } = await listAllTokens(ctx, undefined, { query, params: {}, body: undefined, version: undefined })
  const secondFactors = { oneTimeCodes: await hasTotp(db, user.id), passkeys: (await listPasskeys(db, user.id)).length }
  const hasFactor = secondFactors.oneTimeCodes || secondFactors.passkeys > 0
  return {
    ...showUserInList({ ...user, seen_at: lastSeen?.at ?? null, has_factor: hasFactor }),
    defaultTeamId: user.default_team_id,
    teams: teams.map(({ placed_at, ...team }) => ({ ...team, placed: placed_at !== null })),
    secondFactors,
    sessions,
    tokens,
  }
}

/** Returns a team with its members and the number of its projects. */
export async function showTeamDetails(ctx: OperatorCtx, team: Row<'account'>): Promise<Static<typeof TeamDetails>> {
  const { db } = ctx
  const projectCount = await rowCount(db.selectFrom('project').where('account_id', '=', team.id))
  const members = await db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.user_id')
    .select(['account.id as userId', 'account.slug as username', 'account.email', 'member.role', 'member.placed_at'])
    .where('member.team_id', '=', team.id)
    .orderBy('member.created_stamp', 'desc')
    .limit(MAX_MEMBERS)
    .execute()
  return {
    ...showTeamRow(team),
    projectCount,
    softBlocked: team.soft_blocked_at !== null,
    paymentMissing: team.payment_missing_at !== null,
    members: members.map(({ placed_at, email, ...rest }) => ({
      ...rest,
      email: email ?? '',
      placed: placed_at !== null,
    })),
  }
}
