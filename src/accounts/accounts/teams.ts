/** The user of a token and their teams. docs/spec/client-requests.md B.2 and B.4; docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { missingFactorColumn, mustHaveSecondFactor } from '../../platform/access/second-factor.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { newestPage } from '../../platform/http/pagination.ts'
import type { Role } from '../../platform/permissions/roles.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { Team, TeamList, TeamSettings, TeamsQuery, User } from './schema.ts'

/** Returns the user of the token. */
export async function showUser(ctx: Ctx): Promise<Static<typeof User>> {
  const row = await ctx.db
    .selectFrom('account')
    .selectAll()
    .where('id', '=', ctx.caller.userId)
    .executeTakeFirstOrThrow()
  return {
    user: {
      id: row.id,
      email: row.email ?? '',
      name: row.name,
      username: row.slug,
      avatar: null,
      // CLIs use this team for every request that names none. For a token that is not bound to it, they would mix two accounts. docs/clients.md: Whom
      // a CLI acts for
      defaultTeamId: ctx.caller.tokenTeamId,
      // SDK 1.3 to 1.6 decode no other value.
      version: 'northstar',
      createdAt: stampToMs(row.created_stamp),
      // An account is blocked only by the operator, so the block has no other reason.
      softBlock:
        row.soft_blocked_at === null ? null : { blockedAt: row.soft_blocked_at, reason: 'BLOCKED_FOR_PLATFORM_ABUSE' },
      billing: null,
      resourceConfig: {},
      stagingPrefix: '',
      hasTrialAvailable: false,
    },
  }
}

/**
 * Lists the user's teams, newest first. A token bound to a team sees only that one, and so does a request whose `slug` names a team.
 * docs/spec/decisions.md: Accounts, actors, permissions.
 */
export async function listTeams(
  ctx: Ctx,
  _: undefined,
  { query }: Input<TeamsQuery>,
): Promise<Static<typeof TeamList>> {
  let teams = teamsOf(ctx)
  if (query.slug && ctx.account.kind === 'team') teams = teams.where('account.id', '=', ctx.account.id)
  const { rows, pagination } = await newestPage(teams, query, 'account')
  return { teams: rows.map(showTeam), pagination }
}

/**
 * Finds a team of the user by id or slug, or the acting personal account by id, as the CLI requests a project's owner. Refuses: not_found 404 (also
 * for a team without the user).
 */
export async function findTeamOrPersonalAccount(ctx: Ctx, params: Params): Promise<TeamRow> {
  const { account } = ctx
  if (account.kind !== 'user' || params.idOrSlug !== account.id) return findTeam(ctx, params)
  const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', account.id).executeTakeFirstOrThrow()
  return { ...row, role: 'OWNER', joined_stamp: row.created_stamp, lacks_factor: 0 }
}

/**
 * Finds a team of the user by id or slug. In a write on PostgreSQL it locks the membership until the commit. Refuses: not_found 404 (also for a team
 * without the user), second_factor_required 403.
 */
export async function findTeam(ctx: Ctx, params: Params): Promise<TeamRow> {
  const idOrSlug = params.idOrSlug ?? ''
  const mine = teamsOf(ctx).where((eb) => eb.or([eb('account.id', '=', idOrSlug), eb('account.slug', '=', idOrSlug)]))
  const row = await (ctx.db.isTransaction ? mine.forShare('member') : mine).executeTakeFirst()
  if (row === undefined) refuse('not_found', `Team "${idOrSlug.slice(0, 100)}" not found.`)
  if (ctx.caller.installationId === null) mustHaveSecondFactor(row)
  return row
}

function teamsOf(ctx: Ctx) {
  const mine = ctx.db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.team_id')
    .selectAll('account')
    .select(['member.role', 'member.created_stamp as joined_stamp'])
    .select(missingFactorColumn('member.user_id'))
    .where('member.user_id', '=', ctx.caller.userId)
  // An installation acts for its own account, so on a personal account it sees no team.
  const only = ctx.caller.tokenTeamId ?? (ctx.caller.installationId === null ? null : '')
  return only === null ? mine : mine.where('member.team_id', '=', only)
}

/** A team with the caller's role. */
export type TeamRow = Row<'account'> & { role: Role; joined_stamp: number; lacks_factor: number }

/** Returns the settings that Berth stores only for clients. */
export function settingsOf({ settings_json }: Pick<Row<'account'>, 'settings_json'>): Static<typeof TeamSettings> {
  return settings_json === null ? {} : JSON.parse(settings_json)
}

/** Formats a team for one of its members. */
export function showTeam(row: TeamRow): Static<typeof Team> {
  const createdAt = stampToMs(row.created_stamp)
  const joinedAt = stampToMs(row.joined_stamp)
  return {
    id: row.id,
    slug: row.slug,
    name: row.name ?? row.slug,
    avatar: null,
    limited: false,
    billing: { plan: row.plan },
    created: new Date(createdAt).toISOString(),
    createdAt,
    updatedAt: createdAt,
    creatorId: row.id,
    stagingPrefix: '',
    limitedBy: [],
    description: row.description,
    sensitiveEnvironmentVariablePolicy: row.sensitive_env_policy,
    requireSecondFactor: row.factor_demanded_at !== null,
    hideIpAddresses: false,
    hideIpAddressesInLogDrains: false,
    ...settingsOf(row),
    membership: {
      role: row.role,
      confirmed: true,
      confirmedAt: joinedAt,
      created: joinedAt,
      createdAt: joinedAt,
    },
  }
}
