import type { OperatorCtx } from '../context.ts'
import type { Role } from '../platform/permissions/roles.ts'

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
