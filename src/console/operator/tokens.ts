import type { Static } from 'typebox'
import type { TokenList } from '../../accounts/users/schema.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, heading, paginationLinks, searchForm } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { lastUsedLabel, relativeTime } from '../time.ts'
import { ListQuery, operatorPage, operatorPath, ROWS } from './frame.ts'

const LIST = operatorPath('tokens')
type Query = Static<typeof ListQuery>
/** The search of the list with the button. */
const Shown = Type.Object({ search: Type.Optional(Type.String({ maxLength: 100 })) })

export const tokenScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showTokens',
    query: ListQuery,
    calls: ['operatorListTokens'],
    run: (ctx, input) => showTokens(ctx, input),
  }),
  action({
    path: `${LIST}/:id/end`,
    name: 'consoleEndToken',
    form: Shown,
    calls: 'operatorDeleteToken',
    renderCalls: ['operatorListTokens'],
    request: ({ params }) => ({ params: { id: params.id! } }),
    // The same list follows: in another one, the button of another token would be in the same place.
    next: (_, { form: { search } }) => (search ? `${LIST}?${new URLSearchParams({ search })}` : LIST),
    renderErrors: (ctx, { form }, error) => showTokens(ctx, { query: form as Query }, error),
  }),
]

async function showTokens(
  ctx: ConsoleCtx,
  { query }: Pick<ScreenInput<Query>, 'query'>,
  error?: FormError,
): Promise<Page> {
  const { search, until } = query
  const { tokens, pagination } = await ctx.callRoute<Static<typeof TokenList>>('operatorListTokens', {
    query: { limit: ROWS, search: search || undefined, until },
  })
  const installations = await findInstallations(
    ctx,
    tokens.flatMap(({ configurationId }) => configurationId ?? []),
  )
  return operatorPage(ctx, 'tokens', {
    title: 'Tokens',
    body: html`${heading('Tokens')}
${formErrorNotice(error)}
${searchForm(LIST, 'Search tokens by name or user', 'Name or user', search)}
${dataTable(
  'Tokens',
  ['Name', 'Owner', 'Permissions', 'Last used', 'Expires', 'Created', 'Actions'],
  tokens.map(
    (token) => html`<tr><td>${token.name ?? 'No name'}<br><code class="small">${token.id}</code></td>
<td>${token.configurationId === null ? html`<a href="${operatorPath('people', token.userId)}">${token.username ?? token.userId}</a>` : ownerOf(token.configurationId, installations)}</td>
<td>${token.scopes === null ? 'Full access' : token.scopes.length === 0 ? 'None' : token.scopes.join(', ')}</td>
<td>${lastUsedLabel(token.lastUsedAt, token.createdAt, ctx.now)}</td>
<td>${token.expiresAt === null ? 'never' : relativeTime(token.expiresAt, ctx.now)}</td><td>${relativeTime(token.createdAt, ctx.now)}</td>
<td class="act">${button(ctx, `${operatorPath('tokens', token.id)}/end`, 'Revoke', { label: `Revoke: ${token.name ?? token.id}`, fields: search ? { search } : {} })}</td></tr>`,
  ),
  { none: search ? `No tokens match “${search}”.` : 'No tokens yet.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

type Installations = Awaited<ReturnType<typeof findInstallations>>

/** Returns integration and account of installations, by installation id. */
async function findInstallations({ db }: ConsoleCtx, ids: readonly string[]) {
  const rows =
    ids.length === 0
      ? []
      : await db
          .selectFrom('configuration as one')
          .innerJoin('integration', 'integration.id', 'one.integration_id')
          .innerJoin('account', 'account.id', 'one.account_id')
          .select(['one.id', 'integration.name', 'account.id as account_id', 'account.slug', 'account.kind'])
          .where('one.id', 'in', ids)
          .execute()
  return new Map(rows.map((row) => [row.id, row]))
}

function ownerOf(id: string, installations: Installations): Html {
  const found = installations.get(id)
  if (found === undefined) return html`Removed installation<br><code class="small">${id}</code>`
  const account = operatorPath(found.kind === 'team' ? 'teams' : 'people', found.account_id)
  return html`${found.name}, installed on <a href="${account}">${found.slug}</a><br><code class="small">${id}</code>`
}
