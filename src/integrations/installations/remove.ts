/** The end of an installation: it was uninstalled, or disabled for too long. Specification: Integration configuration. */

import type { EventAccount, OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import { chunks } from '../../platform/db/chunks.ts'
import { dropPendingOf } from '../../platform/outbox/delivery.ts'
import { applyVariableChanges, deleteChange } from '../../projects/env/store.ts'
import { removeSharedOfInstallation } from '../../projects/shared-env/remove.ts'
import { selectionPayload } from './selection.ts'

/** The events that `removeInstallation` may emit. A route that calls it declares these. */
export const REMOVAL_EVENTS = ['integration-configuration.removed', 'project.env-variable.deleted'] as const

/**
 * Removes an installation. Its tokens and codes end. Its variables and log drains are removed. Deliveries that are pending for it
 * are dropped, but for the types in `kept`. The account hears `integration-configuration.removed`, and the installation's own webhooks hear that and nothing
 * after. The row stays for this last event; nothing else finds it. Gives whether this call removed it: of several at once, one does.
 */
export async function removeInstallation(
  ctx: OperatorCtx,
  { id }: { id: string },
  kept: readonly EventName[] = [],
): Promise<boolean> {
  await lockInstallationWrites(ctx.db, [id])
  const removed = await ctx.db
    .updateTable('configuration')
    .set({ deleted_at: ctx.now, updated_at: ctx.now })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returning(['id', 'account_id', 'project_selection'])
    .executeTakeFirst()
  if (removed === undefined) return false
  const owner = await ownerOf(ctx, removed.account_id)
  await ctx.db.deleteFrom('token').where('configuration_id', '=', id).execute()
  await ctx.db.deleteFrom('authorization_code').where('configuration_id', '=', id).execute()
  await removeVariablesOf(ctx, owner, id)
  await removeSharedOfInstallation(ctx, id)
  await endEndpointsOf(ctx, removed.account_id, id, kept)
  const configuration = await selectionPayload(ctx.db, removed)
  await ctx.db.deleteFrom('configuration_project').where('configuration_id', '=', id).execute()
  ctx.emit('integration-configuration.removed', { configuration }, { installationId: id }, owner)
  return true
}

/** The account that hears of an installation. */
export async function ownerOf(ctx: Pick<OperatorCtx, 'db'>, accountId: string): Promise<EventAccount> {
  return ctx.db.selectFrom('account').select(['id', 'kind']).where('id', '=', accountId).executeTakeFirstOrThrow()
}

async function removeVariablesOf(ctx: OperatorCtx, owner: EventAccount, installationId: string): Promise<void> {
  const rows = await ctx.db.selectFrom('env_var').selectAll().where('configuration_id', '=', installationId).execute()
  const byProject = Map.groupBy(rows, (row) => row.project_id)
  for (const slice of chunks([...byProject.keys()])) {
    const projects = await ctx.db.selectFrom('project').select(['id', 'name']).where('id', 'in', slice).execute()
    for (const project of projects)
      await applyVariableChanges(ctx, owner, project, byProject.get(project.id)!.map(deleteChange))
  }
}

/** Ends the webhooks and log drains of an installation, and drops what is pending for it, also at the webhook of its integration. */
async function endEndpointsOf(
  ctx: OperatorCtx,
  accountId: string,
  installationId: string,
  kept: readonly EventName[],
): Promise<void> {
  // The webhooks are only marked: the removal event still needs their URL and secret. `purgeEndedWebhooks` removes them.
  await ctx.db
    .updateTable('webhook')
    .set({ ended_at: ctx.now })
    .where('configuration_id', '=', installationId)
    .execute()
  await ctx.db.deleteFrom('log_drain').where('configuration_id', '=', installationId).execute()
  await dropPendingOf(ctx, accountId, installationId, kept)
}
