import type { Ctx, OperatorCtx } from '../../context.ts'
import { REMOVAL_EVENTS, removeInstallation } from '../../integrations/installations/remove.ts'
import type { Row } from '../../platform/db/schema.ts'
import { LAST_EVENTS } from '../../platform/outbox/delivery.ts'
import { writeEventsOf } from '../../platform/outbox/outbox.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { deleteProject } from '../../projects/projects/projects.ts'
import { removeSharedOfAccount } from '../../projects/shared-env/remove.ts'

/** The events of `emptyAccount`. A route that calls it declares these. */
export const EMPTYING_EVENTS = ['project.removed', ...REMOVAL_EVENTS] as const
/** Limit for one transaction; larger accounts must be emptied first. */
const MAX_PROJECTS = 200

/**
 * Removes the projects, installations, endpoints, claims and credentials of an account. Refuses: account_has_projects 409 (without `force`, or above
 * 200 with it), in_transfer 409, integration_installed 409 (it runs integrations).
 */
export async function emptyAccount(ctx: OperatorCtx, account: Row<'account'>, force: boolean): Promise<void> {
  const { db } = ctx
  const mine = <T extends 'project' | 'webhook' | 'log_drain'>(table: T) =>
    db
      .selectFrom(table as 'project')
      .selectAll()
      .where('account_id', '=', account.id)
  const projects = await mine('project')
    .limit(MAX_PROJECTS + 1)
    .execute()
  if (projects.length > 0 && (!force || projects.length > MAX_PROJECTS)) {
    refuse(
      'account_has_projects',
      `${account.slug} has projects${force ? ` (more than ${MAX_PROJECTS})` : ''}: remove them first${force ? '' : ', or use force'}.`,
    )
  }
  const runs = await db.selectFrom('integration').select('slug').where('team_id', '=', account.id).limit(1).execute()
  if (runs.length > 0)
    refuse('integration_installed', `${account.slug} runs the integration ${runs[0]!.slug}: remove it first.`)
  const installed = await db
    .selectFrom('configuration')
    .selectAll()
    .where('account_id', '=', account.id)
    .where('deleted_at', 'is', null)
    .execute()
  // Projects first, so that installations still receive their removal events. Specification: Events.
  await writeEventsOf(ctx, async (before) => {
    const acting = actFor(before, account)
    for (const project of projects) {
      if (project.transfer_started_at !== null && project.transfer_completed_at === null) refuse('in_transfer')
      await deleteProject(acting, project)
    }
  })
  for (const configuration of installed) await removeInstallation(ctx, configuration, LAST_EVENTS)
  for (const { id } of [...(await mine('webhook').execute()), ...(await mine('log_drain').execute())]) {
    const pending = db.updateTable('delivery').set({ status: 'dropped', due_at: null, done_at: ctx.now })
    await pending.where('endpoint_id', '=', id).where('status', '=', 'pending').execute()
  }
  for (const table of ['webhook', 'log_drain', 'account_domain', 'git_credential'] as const) {
    await db.deleteFrom(table).where('account_id', '=', account.id).execute()
  }
  await removeSharedOfAccount(ctx, account.id)
  await db.deleteFrom('project_key').where('project_id', '=', account.id).execute()
}

/** Removing a project needs the account, but no caller. */
function actFor(ctx: OperatorCtx, { id, kind }: Row<'account'>): Ctx {
  const emit: Ctx['emit'] = (type, payload, about, owner = { id, kind }) => ctx.emit(type, payload, about, owner)
  return { ...ctx, emit } as Ctx
}
