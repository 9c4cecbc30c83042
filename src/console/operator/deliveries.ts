import type { Static } from 'typebox'
import type { Delivery, DeliveryList } from '../../integrations/webhooks/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, heading, paginationLinks } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { findTargetsById, targetLink } from '../names/audit-targets.ts'
import { relativeTime } from '../time.ts'
import { DELIVERY_STATES, deliveryState } from '../webhooks/deliveries.ts'
import { operatorPage, operatorPath, ROWS } from './frame.ts'

const LIST = operatorPath('deliveries')
/** TABLE Status filters and their labels. */
const FILTERS = [['', 'All'], ...Object.entries(DELIVERY_STATES).map(([status, [, word]]) => [status, word])] as const
const Query = Type.Object({
  status: Type.Optional(Type.String({ maxLength: 20 })),
  until: Type.Optional(Type.String({ maxLength: 20 })),
})
type Query = Static<typeof Query>

export const operatorDeliveryScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showDeliveries',
    query: Query,
    calls: ['operatorListDeliveries'],
    run: (ctx, input) => showDeliveries(ctx, input),
  }),
  action({
    path: `${LIST}/:id/replay`,
    name: 'consoleReplayDelivery',
    calls: 'operatorReplayDelivery',
    renderCalls: ['operatorListDeliveries'],
    request: ({ params }) => ({ params: { id: params.id! } }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showDeliveries(ctx, { query: {} }, error),
  }),
]

async function showDeliveries(
  ctx: ConsoleCtx,
  { query }: Pick<ScreenInput<Query>, 'query'>,
  error?: FormError,
): Promise<Page> {
  const { status, until } = query
  const { deliveries, pagination } = await ctx.callRoute<Static<typeof DeliveryList>>('operatorListDeliveries', {
    query: { limit: ROWS, status: status || undefined, until },
  })
  const accounts = await findTargetsById(
    ctx,
    deliveries.map(({ accountId }) => accountId),
  )
  const endpoints = await findEndpoints(
    ctx,
    deliveries.map(({ endpointId }) => endpointId),
  )
  return operatorPage(ctx, 'deliveries', {
    title: 'Deliveries',
    body: html`${heading('Deliveries')}
${formErrorNotice(error)}
<nav class="seg" aria-label="Status">${FILTERS.map(([value, words]) => html`<a href="${value === '' ? LIST : `${LIST}?status=${value}`}"${value === (status ?? '') && html` aria-current="page"`}>${words}</a>`)}</nav>
${dataTable(
  'Deliveries',
  ['Event', 'State', 'Account', 'Endpoint', 'Created', 'Attempts', 'Actions'],
  deliveries.map(
    (
      delivery,
    ) => html`<tr><td><span title="${delivery.id}">${delivery.type}</span></td><td>${deliveryState(delivery)}</td>
<td>${targetLink(delivery.accountId, accounts, ({ kind }, id) => operatorPath(kind === 'team' ? 'teams' : 'people', id))}</td><td>${endpointName(delivery.endpointId, endpoints)}</td>
<td>${relativeTime(delivery.createdAt, ctx.now)}</td><td>${attemptsOf(delivery, ctx.now)}</td>
<td class="act">${button(ctx, `${operatorPath('deliveries', delivery.id)}/replay`, 'Resend', { label: `Resend: ${delivery.type} ${delivery.id}` })}</td></tr>`,
  ),
  { none: status || until ? 'No deliveries match.' : 'No deliveries yet.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

type Endpoints = ReadonlyMap<string, string>

/** Returns names of webhooks and log drains by id. Of a URL only the host: paths may hold secrets. */
async function findEndpoints({ db }: ConsoleCtx, ids: readonly string[]): Promise<Endpoints> {
  if (ids.length === 0) return new Map()
  const webhooks = await db
    .selectFrom('webhook')
    .leftJoin('integration', 'integration.id', 'webhook.integration_id')
    .select(['webhook.id', 'webhook.url', 'integration.name'])
    .where('webhook.id', 'in', ids)
    .execute()
  const drains = await db.selectFrom('log_drain').select(['id', 'name']).where('id', 'in', ids).execute()
  return new Map([
    ...webhooks.map(({ id, url, name }) => {
      const host = URL.parse(url)?.host ?? id
      return [id, name === null ? `Webhook to ${host}` : `${name}, webhook to ${host}`] as const
    }),
    ...drains.map(({ id, name }) => [id, `Log drain ${name}`] as const),
  ])
}

function endpointName(id: string, endpoints: Endpoints): Html {
  const name = endpoints.get(id)
  return name === undefined
    ? html`Removed endpoint<br><code class="small">${id}</code>`
    : html`<span title="${id}">${name}</span>`
}

function attemptsOf({ attempts }: Delivery, now: number): Html {
  if (attempts.length === 0) return html`None yet`
  return html`<details><summary>${attempts.length}</summary><ol>${attempts.map(
    (attempt) =>
      html`<li>${relativeTime(attempt.at, now)}: ${attempt.statusCode === null ? attempt.error : `status ${attempt.statusCode}`} after ${attempt.durationMs} ms${attempt.response && html`<pre>${attempt.response}</pre>`}</li>`,
  )}</ol></details>`
}
