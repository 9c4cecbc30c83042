/** An account: a user or a team. */
import type { OperatorCtx, Params } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusal.ts'

/** Any account by the `accountId` of the path; a user by `userId`; a team by `teamId`. Refuses: not_found 404. */
export async function findAccount(ctx: OperatorCtx, params: Params): Promise<Row<'account'>> {
  const kind = params.teamId !== undefined ? 'team' : params.userId !== undefined ? 'user' : undefined
  const id = params.teamId ?? params.userId ?? params.accountId ?? ''
  const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined || (kind !== undefined && row.kind !== kind))
    refuse('not_found', `No ${kind ?? 'account'} "${id}".`)
  return row
}
