import { type RawBuilder, sql } from 'kysely'
import type { EventAccount, OperatorCtx, Params } from '../context.ts'
import { containsPattern, type Queries } from '../platform/db/db.ts'
import type { Row } from '../platform/db/schema.ts'
import type { Role } from '../platform/permissions/roles.ts'
import { refuse } from '../platform/refusals/refusal.ts'

/** Finds any account by the `accountId` of the path, a user by `userId`, or a team by `teamId`. Refuses: not_found 404. */
export async function findAccount(ctx: OperatorCtx, params: Params): Promise<Row<'account'>> {
  const kind = params.teamId !== undefined ? 'team' : params.userId !== undefined ? 'user' : undefined
  const id = params.teamId ?? params.userId ?? params.accountId ?? ''
  const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined || (kind !== undefined && row.kind !== kind))
    refuse('not_found', `No ${kind ?? 'account'} "${id}".`)
  return row
}

/** Returns an account for its events. Throws without it. */
export function eventAccount(db: Queries, id: string): Promise<EventAccount> {
  return db.selectFrom('account').select(['id', 'kind']).where('id', '=', id).executeTakeFirstOrThrow()
}

/** Returns a condition on `account`: slug, email or name contains a text. Slug and email are lower case; the engine lowers the name. */
export function matchesAccountSearch(search: string): RawBuilder<boolean> {
  const part = containsPattern(search)
  return sql`(account.slug like ${part} escape '!' or account.email like ${part} escape '!' or lower(account.name) like ${part} escape '!')`
}

/** Returns the role of a user in a team, or undefined. Within a write on PostgreSQL the row is locked until the commit. */
export async function membership(
  ctx: Pick<OperatorCtx, 'db'>,
  teamId: string,
  userId: string,
): Promise<Role | undefined> {
  const query = ctx.db.selectFrom('member').select('role').where('team_id', '=', teamId).where('user_id', '=', userId)
  const row = await (ctx.db.isTransaction ? query.forShare() : query).executeTakeFirst()
  return row?.role
}
