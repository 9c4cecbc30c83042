import type { Static } from 'typebox'
import type { CreatedWebhook, Webhook } from '../../integrations/webhooks/schema.ts'
import { state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { countOf, oneTimeSecret } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { eventsOf, projectsOf, projectsToChoose, WebhookFields, webhookFields, webhookPath } from './webhook-form.ts'

const LIST = '/console/t/:slug/webhooks'
export const webhookListScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: LIST, name: 'consoleWebhooks', calls: ['getWebhooks'], run: showWebhooks }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/new`,
    name: 'consoleNewWebhook',
    calls: ['getProjects'],
    run: showNewWebhook,
  }),
  action<typeof WebhookFields, Static<typeof CreatedWebhook>>({
    path: `${LIST}/new`,
    name: 'consoleCreateWebhook',
    form: WebhookFields,
    calls: 'createWebhook',
    renderCalls: ['getProjects'],
    request: ({ form }) => ({ body: { url: form.url.trim(), events: eventsOf(form), projectIds: projectsOf(form) } }),
    next: (made, input, ctx) => showMade(ctx, made, input),
    renderErrors: showNewWebhook,
  }),
]

/** Renders the state of an endpoint with its reason. */
export function endpointState(
  webhook: Pick<Webhook, 'disabledAt' | 'disabledReason' | 'heldAt' | 'failingSince'>,
  now: number,
): Html {
  if (webhook.heldAt !== undefined) return state('warn', 'On hold: needs an owner')
  if (webhook.disabledAt !== undefined)
    return state('bad', html`Disabled${webhook.disabledReason && `: ${webhook.disabledReason}`}`)
  if (webhook.failingSince !== undefined)
    return html`${state('bad', 'Failing')} <span class="soft small">began ${relativeTime(webhook.failingSince, now)}</span>`
  return state('good', 'Active')
}

async function showWebhooks(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const webhooks = await ctx.callRoute<Webhook[]>('getWebhooks', { account })
  return accountPage(ctx, account, 'webhooks', {
    title: 'Webhooks',
    body: html`<div class="head"><h1>Webhooks</h1>${canInAccount(account, 'webhook:write') && html`<a class="btn primary" href="${accountPath(account, 'webhooks/new')}">New webhook</a>`}</div>
${webhooks.length === 0 ? nothing() : table(account, webhooks, ctx.now)}`,
  })
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No webhooks yet</h2>
<p>A webhook sends events to your URL: a deployment is ready, a domain is verified, a variable was changed.</p></div>`
}

function table(account: OwnAccount, webhooks: readonly Webhook[], now: number): Html {
  return dataTable(
    'Webhooks',
    ['URL', 'State', 'Events', 'Projects', 'Changed'],
    webhooks.map(
      (
        webhook,
      ) => html`<tr><td><a href="${webhookPath(account, webhook.id)}">${webhook.url}</a>${webhook.configurationId && html`<br><span class="badge">Integration</span>`}</td>
<td>${endpointState(webhook, now)}</td><td>${countOf(webhook.events.length, 'event')}</td><td>${projectCount(webhook)}</td><td>${relativeTime(webhook.updatedAt, now)}</td></tr>`,
    ),
  )
}

/** Returns `2 projects`, or `All projects` without a limit. */
export function projectCount({ projectIds }: { projectIds?: readonly string[] }): string {
  return projectIds === undefined ? 'All projects' : countOf(projectIds.length, 'project')
}

async function showNewWebhook(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, 'webhooks', {
    title: 'New webhook',
    body: html`<div class="head"><h1>New webhook</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${webhookFields(await projectsToChoose(ctx, account), error)}
<p class="line"><button class="btn primary">Create webhook</button><a class="btn" href="${accountPath(account, 'webhooks')}">Cancel</a></p>
</form>`,
  })
}

async function showMade(ctx: ConsoleCtx, made: Static<typeof CreatedWebhook>, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, 'webhooks', {
    title: 'Webhook created',
    body: html`<div class="head"><h1>Webhook created</h1></div>
${oneTimeSecret('Secret', made.secret)}
<p class="soft">Verify each event with it. <a href="/docs?search=webhooks">Learn how</a></p>
<p><a class="btn primary" href="${webhookPath(account, made.id)}">Go to webhook</a></p>`,
  })
}
