/** The tokens of the calling user, managed with other tokens that never create a wider one. docs/accounts.md: No token creates a wider one. */
import type { Static } from 'typebox'
import type { Caller, Ctx, Input, Params } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { guard } from '../../platform/access/guards.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { newToken } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { newestPage } from '../../platform/http/pagination.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { CreatedUserToken, NewUserToken, OneUserToken, UserTokenList, UserTokenQuery } from './schema.ts'
import { tokenRow } from './tokens.ts'

type Token = Row<'token'> & { seen_at: number | null }

export const notProjectLimitedToken = guard(['missing_permission'], ({ caller }: Ctx, _subject: unknown) =>
  mustSeeAll(caller),
)

/** Project-limited tokens cannot manage tokens, and no scope grants it to scoped tokens. */
function mustSeeAll(caller: Caller): void {
  if (caller.projectIds !== null) refuse('missing_permission', 'A token of some projects manages no other tokens.')
}

/** Lists the tokens of the caller, newest first. A token bound to a team lists only those bound to it. */
export async function listUserTokens(
  ctx: Ctx,
  _: undefined,
  { query }: Input<Static<typeof UserTokenQuery>>,
): Promise<Static<typeof UserTokenList>> {
  const { rows, pagination } = await newestPage(tokensOf(ctx), query)
  return { tokens: rows.map(showToken), pagination }
}

/**
 * Creates a token of the caller: with all permissions, or limited to the acting team, one project, scopes or an expiry. It never outlives the calling
 * token. Refuses: bad_request 400 (`expiresAt`), not_found 404 (no such project).
 */
export async function createUserToken(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, Static<typeof NewUserToken>>,
): Promise<Static<typeof CreatedUserToken>> {
  const { name, scopes, projectId } = body
  const { tokenExpiresAt } = ctx.caller
  const expiresAt = body.expiresAt ?? tokenExpiresAt
  if (expiresAt !== null && expiresAt <= ctx.now) {
    refuse('bad_request', 'Invalid request: `expiresAt` should be in the future.')
  }
  if (tokenExpiresAt !== null && expiresAt! > tokenExpiresAt) {
    refuse('bad_request', 'Invalid request: `expiresAt` should not be after the expiry of the calling token.')
  }
  const token = newToken()
  const row = tokenRow(
    ctx.stamp,
    {
      userId: ctx.caller.userId,
      name,
      ...(ctx.account.kind === 'team' && { teamId: ctx.account.id }),
      ...(projectId !== undefined && { projectIds: [(await findProject(ctx, { idOrName: projectId })).id] }),
      ...(scopes !== undefined && { scopes }),
      ...(expiresAt !== null && { expiresAt }),
    },
    token,
  )
  await ctx.db.insertInto('token').values(row).execute()
  await mustFit(ctx, 'tokens', ctx.caller.userId)
  return { token: showToken({ ...row, seen_at: null }), bearerToken: token }
}

/**
 * Finds a token of the caller by id. `current` is the calling token, which every token of a user can read and revoke. Refuses: missing_permission 403
 * (an installation; a limited token that names another), not_found 404.
 */
export function findUserToken(needs: 'token:read' | 'token:write') {
  return async (ctx: Ctx, params: Params): Promise<Token> => {
    const { caller } = ctx
    const id = params.id === 'current' ? caller.actor.tokenId : params.id
    if (caller.installationId !== null) refuse('missing_permission', 'The token of an installation manages no tokens.')
    // A token needs no permission for itself. A session is not a token.
    if (id === null || id !== caller.actor.tokenId) {
      permit(caller, [needs])
      mustSeeAll(caller)
    }
    const row = await tokensOf(ctx)
      .where('id', '=', id ?? '')
      .executeTakeFirst()
    if (row === undefined) refuse('not_found', `You have no token "${id?.slice(0, 100)}".`)
    return row
  }
}

/** Formats a token without its secret. */
export function showUserToken(_ctx: Ctx, row: Token): Static<typeof OneUserToken> {
  return { token: showToken(row) }
}

/** Excludes expired tokens and those of installations, which have a user id too. */
function tokensOf({ db, caller, now }: Ctx) {
  const mine = db
    .selectFrom('token')
    .selectAll()
    .select((eb) => eb.selectFrom('seen').select('seen.at').whereRef('seen.id', '=', 'token.id').as('seen_at'))
    .where('user_id', '=', caller.userId)
    .where('configuration_id', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
  return caller.tokenTeamId === null ? mine : mine.where('team_id', '=', caller.tokenTeamId)
}

function showToken(row: Token): Static<typeof OneUserToken>['token'] {
  const createdAt = stampToMs(row.created_stamp)
  const expires = row.expires_at !== null && { expiresAt: row.expires_at }
  const team = row.team_id !== null && { teamId: row.team_id }
  return {
    id: row.id,
    name: row.name ?? '',
    type: 'token',
    origin: 'manual',
    scopes: [{ type: row.team_id === null ? 'user' : 'team', ...team, origin: 'manual', createdAt, ...expires }],
    ...team,
    ...(row.project_ids_json !== null && { projectIds: JSON.parse(row.project_ids_json) as string[] }),
    ...(row.scopes_json !== null && { granted: JSON.parse(row.scopes_json) as string[] }),
    createdAt,
    activeAt: Math.max(createdAt, row.seen_at ?? 0),
    ...(row.seen_at !== null && { lastUsedAt: row.seen_at }),
    ...expires,
  }
}
