/** A project that leaves its account leaves what the account's integrations, webhooks and log drains were told of it. */
import type { EventOwner, OperatorCtx } from '../context.ts'
import type { OnProject } from '../model/on-project.ts'
import { leaveSelections } from './selection.ts'

export const installationsOnProject: OnProject = {
  async remove(ctx, { id }, about) {
    about.selectedBy = await leaveSelections(ctx, id)
  },
  forget: (ctx, { id }, from) => leaveIntegrations(ctx, from, id),
}

/** Takes a project out of every selection and list of projects of its account. Installations hear that it is gone. */
async function leaveIntegrations(ctx: OperatorCtx, account: EventOwner, projectId: string): Promise<void> {
  await tellSelections(ctx, account, projectId)
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
      // A list that is empty then stays one: null would be every project.
      const rest = JSON.stringify(ids.filter((one) => one !== projectId))
      await ctx.db.updateTable(table).set({ project_ids_json: rest }).where('id', '=', id).execute()
    }
  }
}

async function tellSelections(ctx: OperatorCtx, account: EventOwner, projectId: string): Promise<void> {
  for (const id of await leaveSelections(ctx, projectId)) {
    const rest = await ctx.db
      .selectFrom('configuration_project')
      .select('project_id')
      .where('configuration_id', '=', id)
      .execute()
    const configuration = { id, projectSelection: 'selected' as const, projects: rest.map((row) => row.project_id) }
    const told = { configuration, projects: { added: [], removed: [projectId] } }
    ctx.emit('integration-configuration.permission-upgraded', told, { installationId: id }, account)
  }
}
