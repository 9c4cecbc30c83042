import type { Static } from 'typebox'
import type { Drain } from '../../integrations/drains/drain-schema.ts'
import type { Delivery, DeliveryList } from '../../integrations/webhooks/schema.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, confirmedButton, dangerCard, paginationLinks } from '../controls.ts'
import { copyable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { readProjectLinks } from '../names/projects.ts'
import { relativeTime } from '../time.ts'
import { deliveryTable, sendButton, statusForm } from './deliveries.ts'
import { drainPath, drainState } from './drains.ts'

const ONE = '/console/t/:slug/drains/:id'
const PAGE = 20
const ListQuery = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  status: Type.Optional(Type.String({ maxLength: 20 })),
})
const shows = ['getDrain', 'getDrainDeliveries'] as const
function drainOf({ params }: ScreenInput) {
  return { params: { id: params.id! } }
}
function toOne(_: unknown, { params }: ScreenInput): string {
  return drainPath({ slug: params.slug! }, params.id!)
}
/** TABLE Buttons of a drain: path suffix, route and body. */
const SWITCHES = {
  enable: ['updateDrain', { status: 'enabled' }],
  disable: ['updateDrain', { status: 'disabled' }],
  'take-over': ['transferLogDrainOwnership', undefined],
} as const

export const drainScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: ONE, name: 'consoleDrain', query: ListQuery, calls: shows, run: showDrain }),
  ...Object.entries(SWITCHES).map(([verb, [asks, body]]) =>
    action({
      path: `${ONE}/${verb}`,
      name: `console-${verb}-drain`,
      calls: asks,
      renderCalls: shows,
      request: (input) => ({ ...drainOf(input), ...(body && { body }) }),
      next: toOne,
      renderErrors: showAgain,
    }),
  ),
  action({
    path: `${ONE}/delete`,
    name: 'consoleDeleteDrain',
    calls: 'deleteDrain',
    renderCalls: shows,
    request: drainOf,
    next: (_, { params }) => accountPath({ slug: params.slug! }, 'drains'),
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/deliveries/:deliveryId/replay`,
    name: 'consoleSendLines',
    calls: 'replayDrainDelivery',
    renderCalls: shows,
    request: ({ params }) => ({ params: { id: params.id!, deliveryId: params.deliveryId! } }),
    next: toOne,
    renderErrors: showAgain,
  }),
]

function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError) {
  return showDrain(ctx, { ...input, query: {} }, error)
}

async function showDrain(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof ListQuery>>, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const drain = await ctx.callRoute<Drain>('getDrain', { account, params: { id: params.id! } })
  const { deliveries, pagination } = await ctx.callRoute<Static<typeof DeliveryList>>('getDrainDeliveries', {
    account,
    params: { id: drain.id },
    query: { limit: String(PAGE), until: query.until, status: query.status || undefined },
  })
  const path = drainPath(account, drain.id)
  const writes = canInAccount(account, 'drain:write')
  // Lines are stored until they are delivered or dropped, so only pending ones can be sent.
  const send = (delivery: Delivery) =>
    delivery.status === 'pending'
      ? sendButton(ctx, `${path}/deliveries/${encodeURIComponent(delivery.id)}/replay`, delivery)
      : undefined
  return accountPage(ctx, account, 'drains', {
    title: drain.name,
    within: [],
    body: html`<div class="head"><h1>${drain.name}</h1></div>
${formErrorNotice(error)}
${await factsOf(ctx, account, drain)}
<h2>Deliveries</h2>
${statusForm(path, query.status)}
${deliveryTable(deliveries, ctx.now, { actOf: writes ? send : undefined, isNarrowed: [query.status, query.until].some(Boolean) })}
${paginationLinks(path, query, pagination.next)}
${writes && dangerCard('Remove log drain', 'It receives no more log lines. Pending deliveries are dropped.', confirmedButton(ctx, `${path}/delete`, 'Remove log drain'))}`,
  })
}

async function factsOf(ctx: ConsoleCtx, account: OwnAccount, drain: Drain): Promise<Html> {
  const path = drainPath(account, drain.id)
  const { log, deployment } = drain.filterV2.filter
  const headers = Object.keys(drain.delivery.headers)
  const projects = await readProjectLinks(ctx, [account], drain.projectIds)
  return html`<section class="card in stack"><h2>Endpoint</h2><dl class="facts">
<dt>URL</dt><dd>${drain.delivery.endpoint}</dd>
<dt>State</dt><dd>${drainState(drain)}</dd>
<dt>Format</dt><dd>${drain.delivery.encoding}</dd>
<dt>Headers</dt><dd>${headers.length === 0 ? 'No custom headers' : headers.map((name) => html`<code>${name}</code> `)}</dd>
<dt>Sources</dt><dd>${log === undefined ? 'All' : log.sources.map((name) => html`<span class="badge">${name}</span> `)}</dd>
<dt>Environments</dt><dd>${deployment.environments.map((name) => html`<span class="badge">${name}</span> `)}</dd>
<dt>Projects</dt><dd>${drain.projectIds === undefined ? 'All' : projects(drain.projectIds)}</dd>
<dt>Created</dt><dd>${relativeTime(drain.createdAt, ctx.now)}</dd>
<dt>ID</dt><dd>${copyable(drain.id, 'id')}</dd>
</dl>
${canInAccount(account, 'drain:write') && drain.heldAt === undefined && switchButton(ctx, path, drain)}
${drain.heldAt !== undefined && canInAccount(account, 'installation:grant') && button(ctx, `${path}/take-over`, 'Become its owner', { look: 'primary' })}</section>`
}

function switchButton(ctx: ConsoleCtx, path: string, { status }: Drain): Html {
  return status === 'disabled'
    ? button(ctx, `${path}/enable`, 'Enable', { look: 'primary' })
    : button(ctx, `${path}/disable`, 'Disable', { look: '' })
}
