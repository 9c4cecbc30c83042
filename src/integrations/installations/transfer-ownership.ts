/** An OWNER of the team takes an installation over. A disabled one is enabled by that. Specification: Integration configuration. */
import type { Ctx } from '../../context.ts'
import type { Installation } from '../../model/installation.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { selectionPayload } from './selection.ts'

/**
 * Makes the caller the owner of an installation. A disabled one is enabled: its tokens are accepted again, and the held events
 * are sent, oldest first. For an enabled installation that the caller owns already, nothing changes and nothing is told.
 * Refuses: not_found 404 (removed meanwhile).
 */
export async function transferOwnership(ctx: Ctx, installation: Installation): Promise<void> {
  const { id, disabled_at, user_id: previousUserId } = installation
  if (previousUserId === ctx.caller.userId && disabled_at === null) return
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
