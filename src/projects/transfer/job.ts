/** Sweep that moves accepted projects. The rows contain the complete state, so it resumes after an interruption. */
import type { EventAccount, OperatorCtx } from '../../context.ts'
import type { EventPayload } from '../../events.ts'
import { linkWithoutCredential } from '../../model/link.ts'
import { changeProject } from '../../model/project.ts'
import { isNameTaken } from '../../model/project-name.ts'
import type { Row } from '../../platform/db/schema.ts'
import { writeEventsOf } from '../../platform/outbox/outbox.ts'
import { fullBudget } from './room.ts'
import { reassignStamps } from './stamps.ts'
import { findEventAccount, projectReference } from './transfer.ts'

/** The next project is chosen from the first of the queue, so that one with an internal error does not block others. */
const CANDIDATES = 20

/** Sweep: moves one project in one transaction, or unlocks it if it cannot be moved (account deleted or full, name taken). */
export async function completeTransfers(ctx: OperatorCtx): Promise<number> {
  const rows = await ctx.db
    .selectFrom('project')
    .selectAll()
    .where('transfer_started_at', 'is not', null)
    .where('transfer_completed_at', 'is', null)
    .orderBy('transfer_started_at')
    .limit(CANDIDATES)
    .execute()
  const project = rows[Math.floor(Math.random() * rows.length)]
  if (project === undefined) return 0
  const request = await ctx.db
    .deleteFrom('transfer_request')
    .where('project_id', '=', project.id)
    .returning('new_name')
    .executeTakeFirst()
  const name = request?.new_name ?? project.name
  const to = await findEventAccount(ctx, project.transfer_to_account_id ?? '')
  if (to === undefined) await unlock(ctx, project, name, 'account_gone', undefined)
  else if (await isNameTaken(ctx, to.id, name)) await unlock(ctx, project, name, 'name_taken', to)
  else if ((await fullBudget(ctx, project, to.id)) !== undefined) await unlock(ctx, project, name, 'account_full', to)
  else await moveProject(ctx, project, name, to)
  return 1
}

async function moveProject(ctx: OperatorCtx, project: Row<'project'>, name: string, to: EventAccount): Promise<void> {
  const from = await findEventAccount(ctx, project.account_id)
  const { projectHooks } = ctx.deps
  const payload = { fromAccountId: project.account_id, toAccountId: to.id }
  if (from !== undefined) {
    // Publish events while subscribers limited to this project are still subscribed.
    await writeEventsOf(ctx, async (before) => {
      for (const { leave } of projectHooks) await leave?.(before, project, from)
      before.emit('project.transfer.completed', { ...payload, project: projectReference(project) }, project.id, from)
    })
    for (const { forget } of projectHooks) await forget?.(ctx, project, from)
  }
  await reassignStamps(ctx, project, to.id)
  await ctx.db
    .updateTable('project')
    .set({
      account_id: to.id,
      name,
      link_json: linkWithoutCredential(project),
      transfer_completed_at: ctx.now,
      transfer_to_account_id: null,
      transferred_from_account_id: project.account_id,
      updated_stamp: ctx.stamp,
    })
    .where('account_id', '=', project.account_id)
    .where('id', '=', project.id)
    .execute()
  for (const { move } of projectHooks) await move?.(ctx, project, to)
  ctx.emit('project.transfer.completed', { ...payload, project: { id: project.id, name } }, project.id, to)
}

type Reason = EventPayload<'project.transfer.failed'>['reason']

async function unlock(
  ctx: OperatorCtx,
  project: Row<'project'>,
  name: string,
  reason: Reason,
  to: EventAccount | undefined,
): Promise<void> {
  await changeProject(ctx, project, { transfer_started_at: null, transfer_to_account_id: null })
  const toAccountId = project.transfer_to_account_id ?? ''
  const payload = { fromAccountId: project.account_id, toAccountId, reason }
  const from = await findEventAccount(ctx, project.account_id)
  if (from) ctx.emit('project.transfer.failed', { ...payload, project: projectReference(project) }, project.id, from)
  if (to) ctx.emit('project.transfer.failed', { ...payload, project: { id: project.id, name } }, project.id, to)
}
