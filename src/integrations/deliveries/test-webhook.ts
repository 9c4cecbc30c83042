/** Sends one event to a webhook now, so that whoever set it up sees what their receiver answers. docs/webhooks.md: Try a webhook. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { permit } from '../../platform/access/authenticate.ts'
import { guard } from '../../platform/access/guards.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import type { WebhookTested } from '../webhooks/schema.ts'
import { bodyOf, headersOf, secretsOf } from './endpoint.ts'
import { signatureHeaders } from './sign.ts'

/** The `type` of the event. No webhook subscribes to it, and it says nothing of the account. */
const TYPE = 'webhook.test'

type Tested = Static<typeof WebhookTested>

/** Whoever may change a webhook sends to it. The webhook of an integration takes the right to change the integration. */
export const canChangeWebhook = guard(['missing_permission'], ({ caller }: Ctx, webhook: Row<'webhook'>) => {
  if (webhook.integration_id !== null) permit(caller, ['integration:write'])
})

/**
 * Posts a signed event of the type `webhook.test`, and gives what was answered. Nothing is kept, nothing is attempted again, and it says
 * nothing of whether the webhook fails; a webhook that is disabled is sent to as well. Refuses: endpoint_held 409, installation_disabled 409
 * (Specification: Events: while an installation is disabled, deliveries are paused).
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
  // As in the log of deliveries: an account does not read from services of a private network.
  const response = ctx.deps.config.allowPrivateWebhooks ? null : posted.response
  return { request, arrived: statusCode >= 200 && statusCode < 300, statusCode, response, durationMs, error: null }
}

async function isOfDisabled({ db }: Ctx, { configuration_id }: Row<'webhook'>): Promise<boolean> {
  if (configuration_id === null) return false
  const row = db.selectFrom('configuration').select('disabled_at').where('id', '=', configuration_id)
  return (await row.executeTakeFirst())?.disabled_at != null
}

const NO_ANSWER = { arrived: false, statusCode: null, response: null, durationMs: 0 }

/** What was found before the transaction is the answer. */
export function testWebhook(_ctx: Ctx, _webhook: Row<'webhook'>, _input: Input, tested: Tested): Tested {
  return tested
}
