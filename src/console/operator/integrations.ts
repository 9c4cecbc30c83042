import type { Static } from 'typebox'
import type { IntegrationList } from '../../integrations/integrations/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { confirmedButton, heading, paginationLinks } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { findTargetsById, targetLink } from '../names/audit-targets.ts'
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
    run: (ctx, input) => showIntegrations(ctx, input),
  }),
  action({
    path: `${LIST}/:id/delete`,
    name: 'consoleOperatorDeleteIntegration',
    calls: 'operatorDeleteIntegration',
    renderCalls: ['operatorListIntegrations'],
    request: ({ params }) => ({ params: { id: params.id! } }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showIntegrations(ctx, { query: {} }, error),
  }),
]

async function showIntegrations(
  ctx: ConsoleCtx,
  { query }: Pick<ScreenInput<Query>, 'query'>,
  error?: FormError,
): Promise<Page> {
  const { integrations, pagination } = await ctx.callRoute<Static<typeof IntegrationList>>('operatorListIntegrations', {
    query: { limit: ROWS, until: query.until },
  })
  const teams = await findTargetsById(
    ctx,
    integrations.map(({ teamId }) => teamId),
  )
  const teamLink = (id: string) => targetLink(id, teams, () => operatorPath('teams', id))
  return operatorPage(ctx, 'integrations', {
    title: 'Integrations',
    body: html`${heading('Integrations')}
${formErrorNotice(error)}
${dataTable(
  'Integrations',
  ['Name', 'Team', 'Permissions', 'Changed', 'Actions'],
  integrations.map(
    (
      integration,
    ) => html`<tr><td>${integration.name}<br><code class="small">${integration.slug}</code></td><td>${teamLink(integration.teamId)}</td>
<td>${integration.scopes.length === 0 ? 'None' : integration.scopes.join(', ')}</td><td>${relativeTime(integration.updatedAt, ctx.now)}</td>
<td class="act">${confirmedButton(ctx, `${operatorPath('integrations', integration.id)}/delete`, 'Remove', { label: `Remove: ${integration.name}`, look: 'small', asks: `Remove ${integration.name}? All its installations end, with their tokens and webhooks.` })}</td></tr>`,
  ),
  { none: 'No integrations registered.' },
)}
${paginationLinks(LIST, { until: query.until }, pagination.next)}`,
  })
}
