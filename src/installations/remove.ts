/** The end of an installation: uninstalled, or disabled for too long. Specification: Integration configuration. */
import { waitForWritesOf } from '../access/installation.ts'
import type { EventOwner, OperatorCtx } from '../context.ts'
import { slices } from '../db/chunks.ts'
import type { Row } from '../db/schema.ts'
import { removal, storeVariables } from '../env/store.ts'
import { DROPPED } from '../outbox/delivery.ts'

/** What `removeInstallation` may emit; a route that calls it declares these. */
export const REMOVAL_EVENTS = ['integration-configuration.removed', 'project.env-variable.deleted'] as const

/**
 * Removes an installation: its tokens and codes end, its variables and log drains go, its webhooks hear of this and nothing else, what was waiting to be
 * delivered to it is dropped, and the account hears `integration-configuration.removed`. The row stays, found by nothing, for
 * that last event. Of several at once one does it; gives whether it was this one.
 */
export async function removeInstallation(ctx: OperatorCtx, configuration: Row<'configuration'>): Promise<boolean> {
  const { id } = configuration
  await waitForWritesOf(ctx.db, [id])
  const gone = await ctx.db
    .updateTable('configuration')
    .set({ deleted_at: ctx.now, updated_at: ctx.now })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returning(['account_id', 'project_selection'])
    .executeTakeFirst()
  if (gone === undefined) return false
  const owner = await ownerOf(ctx, gone.account_id)
  await ctx.db.deleteFrom('token').where('configuration_id', '=', id).execute()
  await ctx.db.deleteFrom('authorization_code').where('configuration_id', '=', id).execute()
  await removeItsVariables(ctx, owner, id)
  await removeItsEndpoints(ctx, id)
  const projects = await ctx.db
    .deleteFrom('configuration_project')
    .where('configuration_id', '=', id)
    .returning('project_id')
    .execute()
  const told = { id, projectSelection: gone.project_selection, projects: projects.map((row) => row.project_id) }
  ctx.emit('integration-configuration.removed', { configuration: told }, { installationId: id }, owner)
  return true
}

/** The account that hears of an installation. */
export async function ownerOf(ctx: Pick<OperatorCtx, 'db'>, accountId: string): Promise<EventOwner> {
  return ctx.db.selectFrom('account').select(['id', 'kind']).where('id', '=', accountId).executeTakeFirstOrThrow()
}

async function removeItsVariables(ctx: OperatorCtx, owner: EventOwner, installationId: string): Promise<void> {
  const rows = await ctx.db.selectFrom('env_var').selectAll().where('configuration_id', '=', installationId).execute()
  const byProject = Map.groupBy(rows, (row) => row.project_id)
  for (const slice of slices([...byProject.keys()])) {
    const projects = await ctx.db.selectFrom('project').select(['id', 'name']).where('id', 'in', slice).execute()
    for (const project of projects) await storeVariables(ctx, owner, project, byProject.get(project.id)!.map(removal))
  }
}

/** Its webhooks and log drains; and nothing of what waits for it, there or at the integration's webhook, is sent any more. */
async function removeItsEndpoints(ctx: OperatorCtx, installationId: string): Promise<void> {
  // They hear of this end; who sends it needs their address and secret. `forgetEndedWebhooks` removes them.
  const ending = ctx.db.updateTable('webhook').set({ ended_at: ctx.now })
  await ending.where('configuration_id', '=', installationId).execute()
  await ctx.db.deleteFrom('log_drain').where('configuration_id', '=', installationId).execute()
  await ctx.db
    .updateTable('delivery')
    .set({ ...DROPPED, done_at: ctx.now })
    .where('configuration_id', '=', installationId)
    .where('status', '=', 'pending')
    .execute()
}
