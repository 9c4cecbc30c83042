/** Sends a test event and returns the receiver's response. docs/webhooks.md: Send a test event. */
import type { Static } from 'typebox'
import type { Ctx } from '../../context.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { guard } from '../../platform/access/guards.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { WebhookTested } from '../webhooks/schema.ts'
import { bodyOf, headersOf, secretsOf } from './endpoint.ts'
import { signatureHeaders } from './sign.ts'

/** No webhook subscribes to this type, and it reveals nothing about the account. */
const TYPE = 'webhook.test'

type Tested = Static<typeof WebhookTested>

/** Changing an integration's webhook requires permission to change the integration. */
export const canChangeWebhook = guard(['missing_permission'], ({ caller }: Ctx, webhook: Row<'webhook'>) => {
  if (webhook.integration_id !== null) permit(caller, ['integration:write'])
})

/**
 * Posts a signed `webhook.test` event and returns the response, also for a disabled webhook. Stores nothing, never retries, and does not affect the
 * failure state. Refuses: endpoint_held 409, installation_disabled 409 (Specification: Events: while an installation is disabled, deliveries are
 * paused).
 */
export async function sendTestEvent(ctx: Ctx, webhook: Row<'webhook'>): Promise<Tested> {
  if (webhook.held_at !== null) refuse('endpoint_held')
  if (await isOfDisabled(ctx, webhook)) refuse('installation_disabled')
  const team = { id: ctx.account.kind === 'team' ? ctx.account.id : null }
  const payload = { team, user: { id: ctx.caller.userId } }
  const event = { id: newId('evt'), stamp: ctx.deps.clock.stamp(), payload_json: JSON.stringify(payload) }
  const request = bodyOf(event, TYPE)
  const secrets = await secretsOf(ctx.deps, webhook)
  if (secrets.length === 0) return { request, ...NO_ANSWER, error: 'the secret of the webhook cannot be read' }
  const signed = signatureHeaders(event.id, Math.floor(ctx.now / 1000), request, secrets)
  const headers = { ...headersOf('application/json'), ...signed }
  const began = performance.now()
  const to = { url: webhook.url, headers, body: request, accountId: webhook.account_id }
  const posted = await ctx.deps.adapters.egress.post(to, ctx.deps.shutdownSignal)
  const durationMs = Math.round(performance.now() - began)
  if ('error' in posted) return { request, ...NO_ANSWER, durationMs, error: posted.error }
  const { statusCode } = posted
  // As in the log of deliveries, accounts must not read from services of a private network.
  const response = ctx.deps.config.allowPrivateWebhooks ? null : posted.response
  return { request, arrived: statusCode >= 200 && statusCode < 300, statusCode, response, durationMs, error: null }
}

async function isOfDisabled({ db }: Ctx, { configuration_id }: Row<'webhook'>): Promise<boolean> {
  if (configuration_id === null) return false
  const row = db.selectFrom('configuration').select('disabled_at').where('id', '=', configuration_id)
  return (await row.executeTakeFirst())?.disabled_at != null
}

const NO_ANSWER = { arrived: false, statusCode: null, response: null, durationMs: 0 }
