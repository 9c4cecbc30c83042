/** A webhook of the account, or of an app. */

import type { Static } from 'typebox'
import type {
  Delivery,
  DeliveryList,
  RangeReplayed,
  Webhook,
  WebhookTested,
} from '../../integrations/webhooks/schema.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { button, cardTitle, confirmedButton, countOf, dangerCard, paginationLinks } from '../controls.ts'
import { copyable, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { readProjectLinks } from '../names/projects.ts'
import { relativeTime } from '../time.ts'
import { canManageWebhook, deliveryTable, endpointOf, prettyJson, sendButton, statusForm } from './deliveries.ts'
import { webhookPath } from './webhook-form.ts'
import { endpointState } from './webhooks.ts'

const ONE = '/console/t/:slug/webhooks/:id'
const PAGE = 20
const ListQuery = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  status: Type.Optional(Type.String({ maxLength: 20 })),
})
const Range = Type.Object({ hours: Type.String(), status: Type.String() })
const Nothing = Type.Object({})
const shows = ['getWebhook', 'getWebhookDeliveries'] as const
function webhookOf({ params }: ScreenInput) {
  return { params: { id: params.id! } }
}
function toOne(_: unknown, { params }: ScreenInput): string {
  return webhookPath({ slug: params.slug! }, params.id!)
}

export const webhookScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: ONE, name: 'consoleWebhook', query: ListQuery, calls: shows, run: showWebhook }),
  action<typeof Nothing, Static<typeof WebhookTested>>({
    path: `${ONE}/test`,
    name: 'consoleTestWebhook',
    form: Nothing,
    calls: 'testWebhook',
    renderCalls: shows,
    request: webhookOf,
    next: (tested, input, ctx) => showTested(ctx, tested, input),
    renderErrors: showAgain,
  }),
  action<typeof Range, Static<typeof RangeReplayed>>({
    path: `${ONE}/replay`,
    name: 'consoleReplayRange',
    form: Range,
    calls: 'replayWebhookDeliveries',
    renderCalls: shows,
    fieldNames: { since: 'hours' },
    request: (input, now) => ({
      ...webhookOf(input),
      body: { since: sinceOf(input.form.hours, now), status: input.form.status },
    }),
    next: (_, { params }) => webhookPath({ slug: params.slug! }, params.id!),
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/enable`,
    name: 'consoleEnableWebhook',
    calls: 'updateWebhook',
    renderCalls: shows,
    request: (input) => ({ ...webhookOf(input), body: { enabled: true } }),
    next: toOne,
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/take-over`,
    name: 'consoleTakeWebhookOver',
    calls: 'transferWebhookOwnership',
    renderCalls: shows,
    request: webhookOf,
    next: toOne,
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/delete`,
    name: 'consoleDeleteWebhook',
    calls: 'deleteWebhook',
    renderCalls: shows,
    request: webhookOf,
    next: (_, { params }) => accountPath({ slug: params.slug! }, 'webhooks'),
    renderErrors: showAgain,
  }),
]

/** Passed on unchanged if not a number, so the route returns the error. */
function sinceOf(hours: string, now: number): unknown {
  const ms = Number(hours) * 3_600_000
  return hours.trim() === '' || !Number.isFinite(ms) ? hours : Math.max(0, Math.round(now - ms))
}

function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError) {
  return showWebhook(ctx, { ...input, query: {} }, error)
}

async function showWebhook(
  ctx: ConsoleCtx,
  { params, query }: ScreenInput<Static<typeof ListQuery>>,
  error?: FormError,
) {
  const account = await findAccountOfPath(ctx, params)
  const id = params.id!
  const webhook = await endpointOf(ctx, account, id)
  const { deliveries, pagination } = await ctx.callRoute<Static<typeof DeliveryList>>('getWebhookDeliveries', {
    account,
    params: { id },
    query: { limit: String(PAGE), until: query.until, status: query.status || undefined },
  })
  const path = webhookPath(account, id)
  const title = webhook === undefined ? 'Webhook of the app' : hostAndPath(webhook.url)
  const writes = canManageWebhook(account, webhook)
  const to = (deliveryId: string) => webhookPath(account, id, `deliveries/${encodeURIComponent(deliveryId)}`)
  const send = (delivery: (typeof deliveries)[number]) => sendButton(ctx, `${to(delivery.id)}/replay`, delivery)
  const isNarrowed = [query.status, query.until].some(Boolean)
  return accountPage(ctx, account, webhook === undefined ? 'apps' : 'webhooks', {
    title,
    within: [],
    body: html`<div class="head"><h1>${title}</h1>${webhook && writes && webhook.heldAt === undefined && html`<a class="btn" href="${path}/edit">Edit</a>`}${writes && testForm(ctx, path)}</div>
${formErrorNotice(error)}
${webhook && (await factsOf(ctx, account, webhook, whyFailing(webhook, deliveries)))}
<h2>Deliveries</h2>
${statusForm(path, query.status)}
${deliveryTable(deliveries, ctx.now, { linkOf: (delivery) => to(delivery.id), actOf: writes ? send : undefined, isNarrowed })}
${paginationLinks(path, query, pagination.next)}
${writes && rangeForm(ctx, path, error)}
${webhook && writes && dangerCard('Remove webhook', 'It receives no more events. Pending deliveries are dropped.', confirmedButton(ctx, `${path}/delete`, 'Remove webhook'))}`,
  })
}

function testForm(ctx: ConsoleCtx, path: string): Html {
  return html`<form method="post" action="${path}/test" data-turbo="false">${csrfFields(ctx)}<button class="btn">Send a test event</button></form>`
}

/** Such as `hooks.example.com/berth`, without the query. */
function hostAndPath(url: string): string {
  const { host, pathname } = new URL(url)
  return pathname === '/' ? host : `${host}${pathname}`
}

/** Last response and pending deliveries on this page, for a failing endpoint. */
function whyFailing({ failingSince }: Webhook, deliveries: readonly Delivery[]): Html | undefined {
  if (failingSince === undefined) return undefined
  const last = deliveries
    .flatMap(({ attempts }) => attempts)
    .toSorted((a, b) => a.at - b.at)
    .at(-1)
  const waiting = deliveries.filter(({ status }) => status === 'pending').length
  return html`${last && html`. Last response: ${last.statusCode ?? last.error}`}${waiting > 0 && html`. ${countOf(waiting, 'event')} queued`}`
}

async function factsOf(ctx: ConsoleCtx, account: OwnAccount, webhook: Webhook, why: Html | undefined): Promise<Html> {
  const path = webhookPath(account, webhook.id)
  const grants = canInAccount(account, 'installation:grant') && canInAccount(account, 'webhook:write')
  const projects = await readProjectLinks(ctx, [account], webhook.projectIds)
  return html`<section class="card in stack"><h2>Endpoint</h2><dl class="facts">
<dt>URL</dt><dd>${webhook.url}</dd>
<dt>State</dt><dd>${endpointState(webhook, ctx.now)}${why}</dd>
<dt>Events</dt><dd>${webhook.events.map((name) => html`<span class="badge">${name}</span> `)}</dd>
<dt>Projects</dt><dd>${webhook.projectIds === undefined ? 'All' : projects(webhook.projectIds)}</dd>
${webhook.configurationId && html`<dt>Registered by</dt><dd><a href="${accountPath(account, `integrations/${webhook.configurationId}`)}">An integration</a></dd>`}
<dt>Created</dt><dd>${relativeTime(webhook.createdAt, ctx.now)}</dd>
<dt>ID</dt><dd>${copyable(webhook.id, 'id')}</dd>
</dl>
${webhook.disabledAt !== undefined && canInAccount(account, 'webhook:write') && button(ctx, `${path}/enable`, 'Enable', { look: 'primary' })}
${webhook.heldAt !== undefined && grants && button(ctx, `${path}/take-over`, 'Become its owner', { look: 'primary' })}</section>`
}

function rangeForm(ctx: ConsoleCtx, path: string, error: FormError | undefined): Html {
  return html`<section class="card in stack">${cardTitle('Resend deliveries', 'Up to 100 of them, oldest first.')}
<form class="stack" method="post" action="${path}/replay">${csrfFields(ctx)}
${field('hours', 'Hours back', { type: 'number', value: 24, error, required: true, attributes: html` min="1" max="720" step="1"` })}
${select(
  'status',
  'Status',
  [
    ['failed', 'Failed'],
    ['dropped', 'Dropped'],
    ['delivered', 'Delivered'],
  ],
  { error, value: 'failed' },
)}
<p class="line"><button class="btn">Resend</button></p></form></section>`
}

async function showTested(ctx: ConsoleCtx, tested: Static<typeof WebhookTested>, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const { arrived, statusCode, error, response, durationMs, request } = tested
  const endpoint = await endpointOf(ctx, account, params.id!)
  return accountPage(ctx, account, endpoint === undefined ? 'apps' : 'webhooks', {
    title: 'Test event',
    within: [['Webhook', webhookPath(account, params.id!)]],
    body: html`<div class="head"><h1>Test event</h1></div>
${note(arrived ? 'good' : 'bad', arrived ? `Delivered: the endpoint returned ${statusCode} after ${durationMs} ms.` : `Not delivered: ${error ?? `the endpoint returned ${statusCode}`}.`, { role: 'status' })}
<section class="card in stack"><h2>Request</h2><pre>${prettyJson(request)}</pre></section>
${response !== null && html`<section class="card in stack"><h2>Response</h2><pre>${response}</pre></section>`}
<p><a class="btn primary" href="${webhookPath(account, params.id!)}">Back to webhook</a></p>`,
  })
}
