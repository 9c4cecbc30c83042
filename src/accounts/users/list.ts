import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Input, OperatorCtx } from '../../context.ts'
import { matchesAccountSearch } from '../../model/account.ts'
import { secondFactorColumn } from '../../platform/access/second-factor.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { containsPattern } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { SCAN_LIMIT, scannedPage, stampBefore } from '../../platform/http/pagination.ts'
import type { OperatorTeamList, PeopleQuery, PersonList, TokenList, TokenOf, TokensQuery } from './schema.ts'

/** Lists users, newest first. A filter searches the next SCAN_LIMIT accounts per page. */
export async function listUsers(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<PeopleQuery>,
): Promise<Static<typeof PersonList>> {
  const { rows, pagination } = await pageOfAccounts(ctx, 'user', query)
  return { users: rows.map((row) => showUserInList({ ...row, has_factor: row.has_factor === 1 })), pagination }
}

/** Lists teams, newest first, as `listUsers` does. */
export async function listAllTeams(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<PeopleQuery>,
): Promise<Static<typeof OperatorTeamList>> {
  const { rows, pagination } = await pageOfAccounts(ctx, 'team', query)
  return { teams: rows.map(showTeamRow), pagination }
}

async function pageOfAccounts(ctx: OperatorCtx, kind: 'user' | 'team', query: PeopleQuery) {
  const { until, search } = query
  let placed = ctx.db.selectFrom('account').orderBy('created_stamp', 'desc')
  if (until !== undefined) placed = placed.where('created_stamp', '<', stampBefore(until))
  let select = ctx.db
    .selectFrom(placed.selectAll().limit(sql.lit(SCAN_LIMIT)).as('account'))
    .selectAll('account')
    .select((eb) => eb.selectFrom('seen').select('seen.at').whereRef('seen.id', '=', 'account.id').as('seen_at'))
    .select(secondFactorColumn('account.id'))
    .where('account.kind', '=', kind)
  if (search) select = select.where(matchesAccountSearch(search))
  return scannedPage(select, placed, query, 'account', 'created_stamp')
}

/** Formats a user for the operator's lists. `seen_at`: the last request or visit, in ms; `has_factor`: a second factor. */
export function showUserInList(row: Row<'account'> & { seen_at: number | null; has_factor: boolean }) {
  return {
    id: row.id,
    email: row.email ?? '',
    username: row.slug,
    name: row.name,
    plan: row.plan,
    suspended: row.suspended_at !== null,
    operator: row.operator_at !== null,
    secondFactor: row.has_factor,
    createdAt: stampToMs(row.created_stamp),
    lastSeenAt: row.seen_at,
  }
}

/** Formats a team for the operator's lists. */
export function showTeamRow(row: Row<'account'>) {
  const { id, slug, name, plan, created_stamp } = row
  return { id, slug, name: name ?? slug, plan, createdAt: stampToMs(created_stamp) }
}

/** Lists tokens, newest first, including those of installations and without values. Filters search as in `listUsers`, except by user. */
export async function listAllTokens(
  ctx: OperatorCtx,
  _: undefined,
  { query }: Input<TokensQuery>,
): Promise<Static<typeof TokenList>> {
  const { until, search, userId, unusedSince } = query
  let placed = ctx.db.selectFrom('token').orderBy('created_stamp', 'desc')
  if (userId !== undefined) placed = placed.where('user_id', '=', userId)
  if (until !== undefined) placed = placed.where('created_stamp', '<', stampBefore(until))
  let select = ctx.db
    .selectFrom(placed.selectAll().limit(sql.lit(SCAN_LIMIT)).as('token'))
    .selectAll('token')
    .select((eb) => [
      eb.selectFrom('seen').select('seen.at').whereRef('seen.id', '=', 'token.id').as('seen_at'),
      eb.selectFrom('account').select('account.slug').whereRef('account.id', '=', 'token.user_id').as('username'),
      eb
        .selectFrom('configuration')
        .select('configuration.scopes_json')
        .whereRef('configuration.id', '=', 'token.configuration_id')
        .as('granted_json'),
    ])
  if (unusedSince !== undefined) {
    const since = stampBefore(unusedSince)
    select = select
      .where('token.created_stamp', '<', since)
      .where(sql<boolean>`coalesce((select seen.at from seen where seen.id = token.id), 0) < ${unusedSince}`)
  }
  if (search) {
    const part = containsPattern(search)
    select = select.where(({ or }) =>
      or([
        sql<boolean>`lower(token.name) like ${part} escape '!'`,
        sql<boolean>`(select account.slug from account where account.id = token.user_id) like ${part} escape '!'`,
      ]),
    )
  }
  const { rows, pagination } = await scannedPage(select, placed, query, 'token', 'created_stamp')
  return { tokens: rows.map(showTokenRow), pagination }
}

type TokenRow = Row<'token'> & { seen_at: number | null; username: string | null; granted_json: string | null }

/** A token of an installation has the scopes granted to the installation. */
function showTokenRow(row: TokenRow): TokenOf {
  const scopes = row.configuration_id === null ? row.scopes_json : (row.granted_json ?? '[]')
  return {
    id: row.id,
    name: row.name,
    userId: row.user_id,
    username: row.username,
    teamId: row.team_id,
    configurationId: row.configuration_id,
    scopes: scopes === null ? null : (JSON.parse(scopes) as string[]),
    projectIds: row.project_ids_json === null ? null : (JSON.parse(row.project_ids_json) as string[]),
    createdAt: stampToMs(row.created_stamp),
    expiresAt: row.expires_at,
    lastUsedAt: row.seen_at,
  }
}
