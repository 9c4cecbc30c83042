import type { Delivery, Webhook } from '../../integrations/webhooks/schema.ts'
import { note } from '../../platform/pages/face/notes.ts'
import { state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
} from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, countOf } from '../controls.ts'
import { copyable, dataTable, pick } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath, unlessGone } from '../frame.ts'
import { relativeTime } from '../time.ts'

const ONE = '/console/t/:slug/webhooks/:id/deliveries/:deliveryId'

const SHOWN = ['getWebhookDelivery', 'getWebhook']

function toDelivery({ params }: ScreenInput) {
  return { params: { id: params.id!, deliveryId: params.deliveryId! } }
}

export const deliveryScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'consoleDelivery',
    calls: SHOWN,
    run: showDelivery,
  }),
  action({
    path: `${ONE}/replay`,
    name: 'consoleReplayDelivery',
    calls: 'replayWebhookDelivery',
    renderCalls: SHOWN,
    request: toDelivery,
    next: (_, { params }) =>
      `${accountPath({ slug: params.slug! }, `webhooks/${params.id}/deliveries/${params.deliveryId}`)}`,
    renderErrors: showDelivery,
  }),
]

/** Renders the status filter of a delivery table. `path`: of the page. */
export function statusForm(path: string, chosen: string | undefined): Html {
  return html`<form class="tools" action="${path}"><label class="bare" for="shown-status">Show</label>
${pick(html`<select id="shown-status" name="status"><option value="">All deliveries</option>${Object.entries(DELIVERY_STATES).map(([state, [, word]]) => html`<option value="${state}"${state === chosen && html` selected`}>${word}</option>`)}</select>`)}<button class="btn">Show</button></form>`
}

/** `isNarrowed`: only some of the deliveries were read, by status or by age. */
type DeliveryOptions = {
  linkOf?: (one: Delivery) => string
  actOf?: ((one: Delivery) => Html | undefined) | undefined
  isNarrowed: boolean
}

/** Reads a webhook of the account. Undefined for the webhook of an app, whose settings are on the page of the app. */
export function endpointOf(ctx: ConsoleCtx, account: OwnAccount, id: string): Promise<Webhook | undefined> {
  return unlessGone(ctx.callRoute<Webhook>('getWebhook', { account, params: { id } }))
}

/** Returns whether the role can change a webhook and resend to it. Undefined: that of an app. */
export function canManageWebhook(account: OwnAccount, webhook: Webhook | undefined): boolean {
  return canInAccount(account, webhook === undefined ? 'integration:write' : 'webhook:write')
}

/** Renders deliveries in a table. `linkOf`: the page of a delivery, if it has one; `actOf`: its action. */
export function deliveryTable(
  deliveries: readonly Delivery[],
  now: number,
  { linkOf, actOf, isNarrowed }: DeliveryOptions,
): Html {
  if (deliveries.length === 0)
    return html`<p class="card empty">${isNarrowed ? 'No deliveries match.' : 'No deliveries yet.'} Deliveries are kept for 30 days.</p>`
  return dataTable(
    'Deliveries',
    ['State', 'Event', 'Attempts', 'Last response', 'When', actOf !== undefined && 'Actions'],
    deliveries.map(
      (
        delivery,
      ) => html`<tr><td>${deliveryState(delivery)}</td><td>${linkOf === undefined ? delivery.type : html`<a href="${linkOf(delivery)}">${delivery.type}</a>`}</td>
<td>${countOf(delivery.attempts.length, 'attempt')}</td><td>${lastAnswer(delivery)}</td><td>${relativeTime(delivery.createdAt, now)}</td>${actOf && html`<td class="act">${actOf(delivery)}</td>`}</tr>`,
    ),
  )
}

/** TABLE Delivery statuses: color and label. */
export const DELIVERY_STATES = {
  pending: ['warn', 'Pending'],
  held: ['warn', 'On hold'],
  delivered: ['good', 'Delivered'],
  failed: ['bad', 'Failed'],
  dropped: ['bad', 'Dropped'],
} as const

/** Renders the status of a delivery. */
export function deliveryState({ status }: Pick<Delivery, 'status'>): Html {
  const [look, word] = DELIVERY_STATES[status]
  return state(look, word)
}

function lastAnswer({ attempts }: Delivery): string {
  const last = attempts.at(-1)
  return last === undefined ? 'No response yet' : (last.statusCode?.toString() ?? last.error ?? 'No response')
}

/** Undefined: on hold or in flight. */
function sendDescription({ status, dueAt }: Delivery): string | undefined {
  if (status === 'held') return undefined
  if (status === 'pending') return dueAt === null ? undefined : 'Send now'
  return 'Resend'
}

/** Renders the button that sends or resends a delivery; undefined if it is on hold or in flight. */
export function sendButton(ctx: UserPageCtx, path: string, delivery: Delivery, look?: string): Html | undefined {
  const words = sendDescription(delivery)
  if (words === undefined) return undefined
  return button(ctx, path, words, { label: `${words}: ${delivery.type} ${delivery.id}`, look })
}

async function showDelivery(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const input = { params: { id: params.id!, deliveryId: params.deliveryId! } }
  const delivery = await ctx.callRoute<Delivery>('getWebhookDelivery', { account, ...input })
  const endpoint = await endpointOf(ctx, account, params.id!)
  const writes = canManageWebhook(account, endpoint)
  const webhook = accountPath(account, `webhooks/${encodeURIComponent(params.id!)}`)
  const path = `${webhook}/deliveries/${encodeURIComponent(delivery.id)}`
  return accountPage(ctx, account, endpoint === undefined ? 'apps' : 'webhooks', {
    title: delivery.type,
    within: [['Webhook', webhook]],
    body: html`<div class="head"><h1>${delivery.type}</h1>${writes && sendButton(ctx, `${path}/replay`, delivery, '')}</div>
${formErrorNotice(error)}
${note(looksBad(delivery) ? 'bad' : 'info', whatHappened(delivery, ctx.now))}
<section class="card in stack"><h2>Delivery</h2><dl class="facts">
<dt>State</dt><dd>${deliveryState(delivery)}</dd>
<dt>Created</dt><dd>${relativeTime(delivery.createdAt, ctx.now)}</dd>
<dt>webhook-id</dt><dd>${delivery.eventId === null ? 'Not stored' : copyable(delivery.eventId, 'webhook-id')}</dd>
<dt>ID</dt><dd>${copyable(delivery.id, 'id')}</dd>
</dl></section>
${requestOf(writes, delivery)}
${attemptsOf(delivery, ctx)}`,
  })
}

/** Undefined before the first attempt. */
function hasArrived({ attempts }: Delivery): boolean | undefined {
  const last = attempts.at(-1)
  return last && last.statusCode !== null && last.statusCode >= 200 && last.statusCode < 300
}

function looksBad(delivery: Delivery): boolean {
  return (
    delivery.status === 'failed' ||
    delivery.status === 'dropped' ||
    (delivery.status === 'pending' && hasArrived(delivery) === false)
  )
}

/** Such as `Attempt 1 failed: the endpoint returned 500 after 45 ms. Next attempt: in 4 minutes.` */
function whatHappened(delivery: Delivery, now: number): Html {
  const last = delivery.attempts.at(-1)
  if (last === undefined) return html`Not sent yet. ${whatComes(delivery, now)}`
  const answer = last.statusCode === null ? (last.error ?? 'no response') : `the endpoint returned ${last.statusCode}`
  const went = hasArrived(delivery) ? 'succeeded' : 'failed'
  return html`Attempt ${last.attempt} ${went}: ${answer} after ${last.durationMs} ms. ${whatComes(delivery, now)}`
}

function whatComes({ status, dueAt }: Delivery, now: number): Html | undefined {
  if (status === 'held') return html`On hold until an owner of the team becomes the owner of the webhook.`
  if (status === 'dropped') return html`Dropped. It will not be retried.`
  if (status === 'failed') return html`It will not be retried.`
  if (status === 'delivered') return undefined
  return dueAt === null || dueAt <= now ? html`It is being sent.` : html`Next attempt: ${relativeTime(dueAt, now)}.`
}

function requestOf(writes: boolean, { request, attempts }: Delivery): Html {
  const why = attempts.length === 0 ? 'Not sent yet.' : writes ? 'No longer stored.' : 'Your role cannot see it.'
  return html`<section class="card in stack"><h2>Request</h2>${request === undefined ? html`<p class="soft">${why}</p>` : html`<p class="soft small">Sent by POST. Headers are not stored.</p><pre>${prettyJson(request)}</pre>`}</section>`
}

/** Returns JSON with indentation. */
export function prettyJson(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2)
}

function attemptsOf({ attempts }: Delivery, { now, deps, user }: ConsoleCtx): Html {
  if (attempts.length === 0)
    return html`<section class="card in stack"><h2>Attempts</h2><p class="soft">None yet.</p></section>`
  const isHidden = deps.config.allowPrivateWebhooks
  const where = user.isOperator ? html` <a href="/console/operator/deliveries">Operator deliveries</a>` : ''
  return html`<h2>Attempts</h2>${isHidden && html`<p class="soft small">Responses are shown to operators only, because this server can send to private networks.${where}</p>`}${dataTable(
    'Attempts',
    ['Attempt', 'When', 'Duration', 'Status', 'Response'],
    attempts.map(
      (
        attempt,
      ) => html`<tr><td>${attempt.attempt}</td><td>${relativeTime(attempt.at, now)}</td><td>${attempt.durationMs} ms</td><td>${attempt.statusCode ?? 'None'}</td>
<td>${attempt.error ?? (attempt.response === null ? html`<span class="soft">${isHidden ? 'Operators only' : 'Not stored'}</span>` : html`<code>${attempt.response}</code>`)}</td></tr>`,
    ),
  )}`
}
