import type { EventAccount, OperatorCtx, ProjectHooks } from '../../context.ts'
import { addToSelection, readSelection, removeFromSelections } from './selection.ts'

export const installationsOnProject: ProjectHooks = {
  created: (ctx, { id }) => addToSelection(ctx, id),
  async remove(ctx, { id }, about) {
    about.selectedBy = await removeFromSelections(ctx, id)
  },
  forget: (ctx, { id }, from) => leaveIntegrations(ctx, from, id),
}

/** Removes a project from the selections, webhooks and log drains of its account, and emits events to installations. */
async function leaveIntegrations(ctx: OperatorCtx, account: EventAccount, projectId: string): Promise<void> {
  await leaveAndTell(ctx, account, projectId)
  for (const table of ['webhook', 'log_drain'] as const) {
    const endpoints = await ctx.db
      .selectFrom(table)
      .select(['id', 'project_ids_json'])
      .where('account_id', '=', account.id)
      .where('project_ids_json', 'is not', null)
      .execute()
    for (const { id, project_ids_json } of endpoints) {
      const ids = JSON.parse(project_ids_json!) as string[]
      if (!ids.includes(projectId)) continue
      // An empty list stays a list, because null means every project.
      const rest = JSON.stringify(ids.filter((id) => id !== projectId))
      await ctx.db.updateTable(table).set({ project_ids_json: rest }).where('id', '=', id).execute()
    }
  }
}

async function leaveAndTell(ctx: OperatorCtx, account: EventAccount, projectId: string): Promise<void> {
  for (const id of await removeFromSelections(ctx, projectId)) {
    const configuration = { id, projectSelection: 'selected' as const, projects: await readSelection(ctx.db, id) }
    const payload = { configuration, projects: { added: [], removed: [projectId] } }
    ctx.emit('integration-configuration.permission-upgraded', payload, { installationId: id }, account)
  }
}
