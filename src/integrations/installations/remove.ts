/** Removal of an installation, by uninstalling or after 30 days disabled. Specification: Integration configuration. */

import type { EventAccount, OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { eventAccount } from '../../model/account.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import { chunks } from '../../platform/db/chunks.ts'
import { dropPendingOf } from '../../platform/outbox/delivery.ts'
import { applyVariableChanges, deleteChange } from '../../projects/env/store.ts'
import { removeSharedOfInstallation } from '../../projects/shared-env/remove.ts'
import { selectionPayload } from './selection.ts'

/** The events of `removeInstallation`. A route that calls it declares these. */
export const REMOVAL_EVENTS = ['integration-configuration.removed', 'project.env-variable.deleted'] as const

/**
 * Removes an installation with its tokens, codes, variables, log drains and pending deliveries, except the types in `kept`. Emits
 * `integration-configuration.removed`, the last event to its own webhooks; the row stays for that delivery only. Returns whether this call removed
 * it.
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
  const owner = await eventAccount(ctx.db, removed.account_id)
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

async function removeVariablesOf(ctx: OperatorCtx, owner: EventAccount, installationId: string): Promise<void> {
  const rows = await ctx.db.selectFrom('env_var').selectAll().where('configuration_id', '=', installationId).execute()
  const byProject = Map.groupBy(rows, (row) => row.project_id)
  for (const slice of chunks([...byProject.keys()])) {
    const projects = await ctx.db.selectFrom('project').select(['id', 'name']).where('id', 'in', slice).execute()
    for (const project of projects)
      await applyVariableChanges(ctx, owner, project, byProject.get(project.id)!.map(deleteChange))
  }
}

/** Removes the endpoints of an installation and drops its pending deliveries, also at the integration's webhook. */
async function endEndpointsOf(
  ctx: OperatorCtx,
  accountId: string,
  installationId: string,
  kept: readonly EventName[],
): Promise<void> {
  // Marks the webhooks only, because the removal event needs their URL and secret. `purgeEndedWebhooks` deletes them.
  await ctx.db
    .updateTable('webhook')
    .set({ ended_at: ctx.now })
    .where('configuration_id', '=', installationId)
    .execute()
  await ctx.db.deleteFrom('log_drain').where('configuration_id', '=', installationId).execute()
  await dropPendingOf(ctx, accountId, installationId, kept)
}
