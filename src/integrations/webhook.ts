/** The one webhook of an integration: it serves all of its installations, and the client secrets sign it. */
import type { OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { newId } from '../ids.ts'

/** Sets where an integration hears events. Another address begins anew: not failing, not disabled. */
export async function putItsWebhook(
  ctx: OperatorCtx,
  integration: Pick<Row<'integration'>, 'id' | 'team_id'>,
  url: string,
): Promise<void> {
  const fresh = { url, failing_since: null, disabled_at: null, disabled_reason: null, updated_at: ctx.now }
  await ctx.db
    .insertInto('webhook')
    .values({
      ...fresh,
      id: newId('hook'),
      account_id: integration.team_id,
      integration_id: integration.id,
      configuration_id: null,
      events_json: null,
      project_ids_json: null,
      sealed_secret: null,
      created_by: ctx.actor.id,
      created_stamp: ctx.stamp,
    })
    .onConflict((conflict) => conflict.column('integration_id').doUpdateSet(fresh))
    .execute()
}

/** The integration hears nothing any more; what was waiting for it is dropped. */
export async function removeItsWebhook(ctx: OperatorCtx, integrationId: string): Promise<void> {
  const gone = await ctx.db
    .deleteFrom('webhook')
    .where('integration_id', '=', integrationId)
    .returning('id')
    .executeTakeFirst()
  if (gone === undefined) return
  await ctx.db
    .updateTable('delivery')
    .set({ status: 'dropped', due_at: null, done_at: ctx.now })
    .where('endpoint_id', '=', gone.id)
    .where('status', '=', 'pending')
    .execute()
}
