import type { Static } from 'typebox'
import type { Delivery, DeliveryList } from '../../integrations/webhooks/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, heading, paginationLinks } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { Refused } from '../refused.ts'
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
    requiresReauthentication: true,
    run: (ctx, input) => showDeliveries(ctx, input),
  }),
  action({
    path: `${LIST}/:id/replay`,
    name: 'consoleReplayDelivery',
    asks: 'operatorReplayDelivery',
    shows: ['operatorListDeliveries'],
    wish: ({ params }) => ({ params: { id: params.id! } }),
    to: () => LIST,
    again: (ctx, _, refused) => showDeliveries(ctx, { query: {} }, refused),
    fresh: true,
  }),
]

async function showDeliveries(
  ctx: ConsoleCtx,
  { query }: Pick<ScreenInput<Query>, 'query'>,
  refused?: Refused,
): Promise<Page> {
  const { status, until } = query
  const { deliveries, pagination } = await ctx.ask<Static<typeof DeliveryList>>('operatorListDeliveries', {
    query: { limit: ROWS, status: status || undefined, until },
  })
  return operatorPage(ctx, 'deliveries', {
    title: 'Deliveries',
    body: html`${heading('Deliveries')}
${formErrorNotice(refused)}
<nav aria-label="Status"><p class="line tight">${FILTERS.map(([value, words]) => html`<a class="btn small" href="${value === '' ? LIST : `${LIST}?status=${value}`}"${value === (status ?? '') && html` aria-current="page"`}>${words}</a> `)}</p></nav>
${dataTable(
  'Deliveries',
  ['Event', 'State', 'Account', 'Endpoint', 'Created', 'Attempts', 'Actions'],
  deliveries.map(
    (one) => html`<tr><td>${one.type}<br><code class="small">${one.id}</code></td><td>${deliveryState(one)}</td>
<td><code class="small">${one.accountId}</code></td><td><code class="small">${one.endpointId}</code></td>
<td>${relativeTime(one.createdAt, ctx.now)}</td><td>${attemptsOf(one, ctx.now)}</td>
<td class="act">${button(ctx, `${operatorPath('deliveries', one.id)}/replay`, 'Resend', { label: `Resend: ${one.id}` })}</td></tr>`,
  ),
  { none: 'No deliveries yet.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

function attemptsOf({ attempts }: Delivery, now: number): Html {
  if (attempts.length === 0) return html`None yet`
  return html`<details><summary>${attempts.length}</summary><ol>${attempts.map(
    (one) =>
      html`<li>${relativeTime(one.at, now)}: ${one.statusCode === null ? one.error : `status ${one.statusCode}`} after ${one.durationMs} ms${one.response && html`<pre>${one.response}</pre>`}</li>`,
  )}</ol></details>`
}
