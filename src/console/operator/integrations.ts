import type { Static } from 'typebox'
import type { IntegrationList } from '../../integrations/integrations/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { confirmedButton, heading, paginationLinks } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { Refused } from '../refused.ts'
import { relativeTime } from '../time.ts'
import { ListQuery, operatorPage, operatorPath, ROWS } from './frame.ts'

const LIST = operatorPath('integrations')
type Query = Static<typeof ListQuery>

export const integrationScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showIntegrations',
    query: ListQuery,
    calls: ['operatorListIntegrations'],
    requiresReauthentication: true,
    run: (ctx, input) => showIntegrations(ctx, input),
  }),
  action({
    path: `${LIST}/:id/delete`,
    name: 'consoleOperatorDeleteIntegration',
    asks: 'operatorDeleteIntegration',
    shows: ['operatorListIntegrations'],
    wish: ({ params }) => ({ params: { id: params.id! } }),
    to: () => LIST,
    again: (ctx, _, refused) => showIntegrations(ctx, { query: {} }, refused),
    fresh: true,
  }),
]

async function showIntegrations(
  ctx: ConsoleCtx,
  { query }: Pick<ScreenInput<Query>, 'query'>,
  refused?: Refused,
): Promise<Page> {
  const { integrations, pagination } = await ctx.ask<Static<typeof IntegrationList>>('operatorListIntegrations', {
    query: { limit: ROWS, until: query.until },
  })
  return operatorPage(ctx, 'integrations', {
    title: 'Integrations',
    body: html`${heading('Integrations')}
${formErrorNotice(refused)}
${dataTable(
  'Integrations',
  ['Name', 'Team', 'Permissions', 'Changed', 'Actions'],
  integrations.map(
    (
      one,
    ) => html`<tr><td>${one.name}<br><code class="small">${one.slug}</code></td><td><a href="${operatorPath('teams', one.teamId)}"><code class="small">${one.teamId}</code></a></td>
<td>${one.scopes.length === 0 ? 'None' : one.scopes.join(', ')}</td><td>${relativeTime(one.updatedAt, ctx.now)}</td>
<td class="act">${confirmedButton(ctx, `${operatorPath('integrations', one.id)}/delete`, 'Remove', { label: `Remove: ${one.name}`, look: 'small', asks: `Remove ${one.name}? All its installations end, with their tokens and webhooks.` })}</td></tr>`,
  ),
  { none: 'No integrations registered.' },
)}
${paginationLinks(LIST, { until: query.until }, pagination.next)}`,
  })
}
