/** Personal tokens, stored as a hash. docs/spec/decisions.md: Tokens. */

import type { Input, OperatorCtx, Params } from '../../context.ts'
import { membership } from '../../model/account.ts'
import { lockUserWrites } from '../../platform/access/user-write-lock.ts'
import { fingerprint, newId, newToken } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { NewToken } from '../accounts/schema.ts'

/**
 * Creates a token with the permissions of its user, or limited to a team, scopes, projects or an expiry. Refuses: unknown_user 400, user_suspended
 * 409, unknown_team 400 (not a team of the user), bad_request 400 (an expiry in the past).
 */
export async function createToken(ctx: OperatorCtx, _: undefined, { body }: Input<unknown, NewToken>) {
  const user = await ctx.db
    .selectFrom('account')
    .select(['kind', 'suspended_at'])
    .where('id', '=', body.userId)
    .executeTakeFirst()
  if (user?.kind !== 'user') refuse('unknown_user', `User "${body.userId}" not found.`)
  if (user.suspended_at !== null) refuse('user_suspended')
  if (body.teamId !== undefined && !(await membership(ctx, body.teamId, body.userId))) {
    refuse('unknown_team', `The user is not a member of a team "${body.teamId}".`)
  }
  if (body.expiresAt !== undefined && body.expiresAt <= ctx.now) {
    refuse('bad_request', 'Invalid request: `expiresAt` should be in the future.')
  }
  const token = newToken()
  const row = tokenRow(ctx.stamp, body, token)
  await ctx.db.insertInto('token').values(row).execute()
  return { id: row.id, token }
}

/** Returns the row of a token, which holds its hash only. */
export function tokenRow(stamp: number, fields: NewToken, token: string): Row<'token'> {
  return {
    id: newId('tok'),
    hash: fingerprint(token),
    user_id: fields.userId,
    team_id: fields.teamId ?? null,
    name: fields.name ?? null,
    scopes_json: fields.scopes ? JSON.stringify(fields.scopes) : null,
    project_ids_json: fields.projectIds ? JSON.stringify(fields.projectIds) : null,
    expires_at: fields.expiresAt ?? null,
    created_stamp: stamp,
    configuration_id: null,
  }
}

/** Revokes a token. When it returns, no write of the token is in flight and none can start. */
export async function endToken(ctx: Pick<OperatorCtx, 'db'>, { id, user_id }: OwnedToken): Promise<void> {
  await lockUserWrites(ctx.db, user_id)
  await ctx.db.deleteFrom('token').where('id', '=', id).execute()
  await ctx.db.deleteFrom('seen').where('id', '=', id).execute()
}

type OwnedToken = Pick<Row<'token'>, 'id' | 'user_id'>

/** Finds a token by id. Refuses: not_found 404. */
export async function findToken(ctx: OperatorCtx, params: Params): Promise<OwnedToken> {
  const row = await ctx.db
    .selectFrom('token')
    .select(['id', 'user_id'])
    .where('id', '=', params.id ?? '')
    .executeTakeFirst()
  if (row === undefined) refuse('not_found', `No token "${params.id}".`)
  return row
}
