/**
 * Suspension of a user: tokens return 401 and sessions end with the commit; installations are disabled, endpoints go on hold. `resume` restores all
 * but the sessions. docs/operations.md: User administration.
 */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { lockUserWrites } from '../../platform/access/user-write-lock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { revokeTeamAccess } from '../accounts/revoke-access.ts'
import { endSessionsOf } from '../sign-in/sessions.ts'

/** Prefix of a suspended token's hash. No real hash starts so, so no instance finds the token. */
const MARK = 'suspended '
/** `resume` restores only rows with this reason. */
const REASON = 'disabled-by-admin'

/** Suspends or resumes a user. Idempotent. */
export async function setSuspended(ctx: OperatorCtx, user: Row<'account'>, suspended: boolean): Promise<void> {
  if (suspended === (user.suspended_at !== null)) return
  await lockUserWrites(ctx.db, user.id)
  const at = suspended ? ctx.now : null
  await ctx.db.updateTable('account').set({ suspended_at: at }).where('id', '=', user.id).execute()
  await (suspended ? suspend(ctx, user) : resume(ctx, user))
}

async function suspend(ctx: OperatorCtx, user: Row<'account'>): Promise<void> {
  // The hash is a key, so this waits for writes that hold the token, and later ones do not find it.
  await ctx.db
    .updateTable('token')
    .set({ hash: sql<string>`${MARK} || hash` })
    .where('user_id', '=', user.id)
    .where('configuration_id', 'is', null)
    .execute()
  await endSessionsOf(ctx, user.id)
  for (const account of [user, ...(await teamsOf(ctx, user.id))]) await revokeTeamAccess(ctx, account, user.id, REASON)
}

async function resume(ctx: OperatorCtx, user: Row<'account'>): Promise<void> {
  await ctx.db
    .updateTable('token')
    .set({ hash: sql<string>`substr(hash, ${sql.lit(MARK.length + 1)})` })
    .where('user_id', '=', user.id)
    .where('hash', 'like', `${MARK}%`)
    .execute()
  for (const { id } of [user, ...(await teamsOf(ctx, user.id))]) {
    await ctx.db
      .updateTable('configuration')
      .set({ disabled_at: null, disabled_reason: null, resumed_at: ctx.now, updated_at: ctx.now })
      .where('account_id', '=', id)
      .where('user_id', '=', user.id)
      .where('disabled_reason', '=', REASON)
      .where('deleted_at', 'is', null)
      .execute()
    for (const table of ['webhook', 'log_drain'] as const) {
      await ctx.db
        .updateTable(table)
        .set({ held_at: null, held_reason: null })
        .where('account_id', '=', id)
        .where('created_by', '=', user.id)
        .where('held_reason', '=', REASON)
        .execute()
    }
  }
  ctx.deps.wakeups.deliveries()
}

function teamsOf({ db }: OperatorCtx, userId: string): Promise<Pick<Row<'account'>, 'id' | 'slug'>[]> {
  return db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.team_id')
    .select(['account.id', 'account.slug'])
    .where('member.user_id', '=', userId)
    .execute()
}
