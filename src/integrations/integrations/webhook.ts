/** The webhook of an integration, for all of its installations, signed with the client secrets. */
import type { OperatorCtx } from '../../context.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'

/** Sets the URL of the integration's webhook, resets its failures and enables it if failures had disabled it. */
export async function setIntegrationWebhook(
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
    .onConflict((conflict) =>
      conflict.column('integration_id').doUpdateSet((eb) => ({
        ...fresh,
        // The user who sets another URL becomes the creator. Clients also send the URL that it has.
        created_by: eb
          .case()
          .when('webhook.url', '=', url)
          .then(eb.ref('webhook.created_by'))
          .else(eb.ref('excluded.created_by'))
          .end(),
      })),
    )
    .execute()
}

/** Removes the integration's webhook. The worker drops its pending deliveries as they are due, in steps. */
export async function removeIntegrationWebhook({ db }: Pick<OperatorCtx, 'db'>, integrationId: string): Promise<void> {
  await db.deleteFrom('webhook').where('integration_id', '=', integrationId).execute()
}
