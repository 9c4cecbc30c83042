/** An owner of the team takes an installation over, which ends its being disabled. Specification: Integration configuration. */
import type { Ctx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusal.ts'

/**
 * Makes the caller the owner of an installation. A disabled one is enabled with it: its tokens act again, and what was held
 * is sent, oldest first. Taking over what one has, enabled, changes nothing and tells nothing. Gives the installation as it
 * is now. Refuses: not_found 404 (removed meanwhile).
 */
export async function transferOwnership(ctx: Ctx, configuration: Row<'configuration'>): Promise<Row<'configuration'>> {
  const { id, disabled_at, user_id: previousUserId } = configuration
  if (previousUserId === ctx.who.userId && disabled_at === null) return configuration
  const row = await ctx.db
    .updateTable('configuration')
    .set({
      user_id: ctx.who.userId,
      disabled_at: null,
      disabled_reason: null,
      ...(disabled_at !== null && { resumed_at: ctx.now }),
      updated_at: ctx.now,
    })
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) refuse('not_found', `No installation "${id}".`)
  const projects = await ctx.db
    .selectFrom('configuration_project')
    .select('project_id')
    .where('configuration_id', '=', id)
    .orderBy('project_id')
    .execute()
  const told = { id, projectSelection: row.project_selection, projects: projects.map(({ project_id }) => project_id) }
  ctx.emit('integration-configuration.transferred', { configuration: told, previousUserId }, { installationId: id })
  return row
}
