import type { Ctx } from '../../context.ts'
import type { Installation } from '../../model/installation.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { selectionPayload } from './selection.ts'

/**
 * Makes the caller, an OWNER, the owner of an installation. A disabled one is enabled: its tokens work again and held events are sent, oldest first.
 * No event when nothing changes. Refuses: not_found 404 (removed meanwhile). Specification: Integration configuration.
 */
export async function transferOwnership(ctx: Ctx, installation: Installation): Promise<void> {
  const { id, disabled_at, user_id: previousUserId } = installation
  if (previousUserId === ctx.caller.userId && disabled_at === null) return
  await lockInstallationWrites(ctx.db, [id])
  const row = await ctx.db
    .updateTable('configuration')
    .set({
      user_id: ctx.caller.userId,
      disabled_at: null,
      disabled_reason: null,
      ...(disabled_at !== null && { resumed_at: ctx.now }),
      updated_at: ctx.now,
    })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returning(['id', 'project_selection'])
    .executeTakeFirst()
  if (row === undefined) refuse('not_found', `No installation "${id}".`)
  const configuration = await selectionPayload(ctx.db, row)
  ctx.emit('integration-configuration.transferred', { configuration, previousUserId }, { installationId: id })
}
