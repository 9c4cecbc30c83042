import type { OperatorCtx } from '../../context.ts'
import { projectsOf, unlinkAllProjects } from './links.ts'
import type { SharedRow } from './schema.ts'

/** Removes shared variables of an installation. */
export async function removeSharedOfInstallation(ctx: Pick<OperatorCtx, 'db'>, installationId: string): Promise<void> {
  const rows = await ctx.db
    .selectFrom('shared_env_var')
    .selectAll()
    .where('configuration_id', '=', installationId)
    .execute()
  for (const row of rows) {
    await unlinkAllProjects(ctx, row, (await projectsOf(ctx, row.account_id, [row.id])).get(row.id)!)
    await deleteRow(ctx, row)
  }
}

/** Removes all shared variables of an account without projects. */
export async function removeSharedOfAccount(ctx: Pick<OperatorCtx, 'db'>, accountId: string): Promise<void> {
  for (const table of ['shared_env_link', 'shared_env_target', 'shared_env_var'] as const)
    await ctx.db.deleteFrom(table).where('account_id', '=', accountId).execute()
}

/** Deletes the row of an unlinked variable and frees its slots. */
export async function deleteRow(ctx: Pick<OperatorCtx, 'db'>, row: SharedRow): Promise<void> {
  await releaseSlots(ctx, row)
  await ctx.db.deleteFrom('shared_env_var').where('account_id', '=', row.account_id).where('id', '=', row.id).execute()
}

/** Frees the slots of a variable: its key in each target. */
export async function releaseSlots(ctx: Pick<OperatorCtx, 'db'>, row: SharedRow): Promise<void> {
  await ctx.db
    .deleteFrom('shared_env_target')
    .where('account_id', '=', row.account_id)
    .where('key', '=', row.key)
    .where('variable_id', '=', row.id)
    .execute()
}
