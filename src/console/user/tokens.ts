import type { Static } from 'typebox'
import type { CreatedUserToken, UserTokenList } from '../../accounts/tokens/schema.ts'
import { tokenScopeDescription } from '../../integrations/consent/scope-descriptions.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { accountsOf, nameOf, type OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { button, heading, oneTimeSecret, paginationLinks, shellCommand } from '../controls.ts'
import { type Choice, dataTable, fieldRow, radios, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, findAccountOfPath, personPage, personPath } from '../frame.ts'
import { readProjectLinks } from '../names/projects.ts'
import { chosenScopes, SCOPE_LEVELS, scopeLevels } from '../scope-levels.ts'
import { lastUsedLabel, relativeTime } from '../time.ts'

const LIST = personPath('tokens')
const OF_ACCOUNT = '/console/t/:slug/tokens'
const PAGE = 20
/** Tokens of the user scanned for one page of an account. */
const LOOKED_THROUGH = 100
const DAY_MS = 86_400_000
const Query = Type.Object({ until: Type.Optional(Type.String({ maxLength: 20 })) })
const NewQuery = Type.Object({ account: Type.Optional(Type.String({ maxLength: 64 })) })
const NewToken = Type.Object({
  name: Type.String(),
  account: Type.String(),
  project: Type.Optional(Type.String()),
  days: Type.String(),
  may: Type.Optional(Type.String()),
  ...SCOPE_LEVELS,
})
const DAYS: readonly Choice[] = [
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
  ['', 'Never'],
]
/** TABLE Access of a token: the field `may`. */
const MAY = [
  ['all', 'Full access', 'Everything you can do, now and later.'],
  ['chosen', 'Selected permissions', 'Nothing else, also if your role changes.'],
] as const
type Token = Static<typeof UserTokenList>['tokens'][number]

export const ownTokenScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'consoleTokens',
    query: Query,
    calls: ['listAuthTokens'],
    run: showTokens,
  }),
  consoleScreen({
    method: 'GET',
    path: OF_ACCOUNT,
    name: 'consoleAccountTokens',
    query: Query,
    calls: ['listAuthTokens'],
    run: showTokensOfAccount,
  }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/new`,
    name: 'consoleNewToken',
    query: NewQuery,
    calls: [],
    requiresReauthentication: true,
    run: showNewToken,
  }),
  action<typeof NewToken, Static<typeof CreatedUserToken>>({
    path: `${LIST}/new`,
    name: 'consoleMakeToken',
    form: NewToken,
    calls: 'createAuthToken',
    renderCalls: [],
    fresh: true,
    fieldNames: { projectId: 'project', expiresAt: 'days' },
    request: ({ form }, now) => ({
      ...(form.account !== '' && { account: { id: form.account } }),
      body: bodyOf(form, now),
    }),
    next: (made, _, ctx) => showMade(ctx, made),
    renderErrors: (ctx, input, error) => showNewToken(ctx, { ...input, query: {} }, error),
  }),
  action({
    path: `${LIST}/:id/end`,
    name: 'consoleEndToken',
    calls: 'deleteAuthToken',
    renderCalls: ['listAuthTokens'],
    request: ({ params }) => ({ params: { id: params.id! } }),
    next: () => LIST,
    renderErrors: (ctx, input, error) => showTokens(ctx, { ...input, query: {} }, error),
  }),
]

function bodyOf(form: Static<typeof NewToken>, now: number) {
  const { name, project, days } = form
  return {
    name: name.trim(),
    ...(project?.trim() && { projectId: project.trim() }),
    // Passed on unchanged, so the route returns the error.
    ...(days !== '' && { expiresAt: /^[0-9]{1,4}$/.test(days) ? now + Number(days) * DAY_MS : days }),
    ...(form.may !== 'all' && { scopes: scopesIn(form) }),
  }
}

/** Returns the chosen scopes of a token. Refuses: bad_request 400 (none). */
function scopesIn(form: Static<typeof NewToken>): string[] {
  if (form.may !== 'chosen') refuse('bad_request', 'Invalid request: `may` must be one of the two choices.')
  const scopes = chosenScopes(form)
  if (scopes.length > 0) return scopes
  refuse('bad_request', 'Invalid request: `scopes` is empty. Choose at least one permission.')
}

async function showTokens(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof Query>>, error?: FormError) {
  const { tokens, pagination } = await ctx.callRoute<Static<typeof UserTokenList>>('listAuthTokens', {
    query: { limit: String(PAGE), until: query.until },
  })
  return personPage(ctx, 'tokens', {
    title: 'Tokens',
    body: html`<div class="head"><h1>Tokens</h1><a class="btn primary" href="${LIST}/new">New token</a></div>
${formErrorNotice(error)}
${tokens.length === 0 ? nothing() : await table(ctx, tokens, await accountsOf(ctx))}
${paginationLinks(LIST, { until: query.until }, pagination.next)}`,
  })
}

/** Tokens of the user with access to this account. */
async function showTokensOfAccount(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof Query>>) {
  const account = await findAccountOfPath(ctx, params)
  const { tokens, pagination } = await ctx.callRoute<Static<typeof UserTokenList>>('listAuthTokens', {
    account,
    query: { limit: String(LOOKED_THROUGH), until: query.until },
  })
  const here = tokens.filter(({ teamId }) => teamId === undefined || teamId === account.id)
  return accountPage(ctx, account, 'tokens', {
    title: 'Tokens',
    body: html`${heading('Your tokens', html`<a class="btn primary" href="${LIST}/new?account=${account.id}">New token</a>`)}
<p class="soft">Your tokens with access to <strong>${account.slug}</strong>. Only you can see them. <a href="${LIST}">All your tokens</a></p>
${here.length === 0 ? nothing(pagination.next !== null) : await table(ctx, here, [account])}
${paginationLinks(accountPath(account, 'tokens'), { until: query.until }, pagination.next)}`,
  })
}

/** `hasOlder`: tokens of other accounts fill this page. */
function nothing(hasOlder = false): Html {
  if (hasOlder) return html`<p class="card empty">None of these tokens opens this account. Older ones are below.</p>`
  return html`<div class="card empty"><h2>No tokens yet</h2><p>Tokens give programs your access: the command line, CI pipelines, Terraform.</p></div>`
}

async function table(ctx: ConsoleCtx, tokens: readonly Token[], accounts: readonly OwnAccount[]): Promise<Html> {
  const ids = tokens.flatMap(({ projectIds = [] }) => projectIds)
  const projects = await readProjectLinks(ctx, accounts, ids)
  const called = (id: string) => accounts.find((account) => account.id === id)?.slug ?? id
  return dataTable(
    'Tokens',
    ['Name', 'Account', 'Permissions', 'Last used', 'Expires', 'Actions'],
    tokens.map(
      (
        token,
      ) => html`<tr><td>${token.name || token.id}<br><span class="soft small">created ${relativeTime(token.createdAt, ctx.now)}</span></td>
<td>${token.teamId === undefined ? 'All your accounts' : called(token.teamId)}${token.projectIds && html`<br>${projects(token.projectIds)}`}</td>
<td>${token.granted === undefined ? 'Full access' : token.granted.map((scope) => html`<span class="badge">${scope}</span> `)}</td>
<td>${lastUsedLabel(token.lastUsedAt ?? null, token.createdAt, ctx.now)}</td>
<td>${token.expiresAt === undefined ? 'never' : relativeTime(token.expiresAt, ctx.now)}</td>
<td class="act">${button(ctx, `${LIST}/${encodeURIComponent(token.id)}/end`, 'Revoke', { label: `Revoke the token ${token.name || token.id}` })}</td></tr>`,
    ),
  )
}

async function showNewToken(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof NewQuery>>, error?: FormError) {
  const accounts = (await accountsOf(ctx)).filter(({ kind }) => kind === 'team')
  const choices = [
    ['', 'All your accounts'] as const,
    ...accounts.map((account) => [account.id, `${nameOf(account)} only`] as const),
  ]
  return personPage(ctx, 'tokens', {
    title: 'New token',
    body: html`<div class="head"><h1>New token</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${LIST}/new" data-turbo="false">
${csrfFields(ctx)}
${fieldRow(
  field('name', 'Name', {
    required: true,
    error,
    hint: 'A name to recognize it by.',
    attributes: html` maxlength="100" autocomplete="off"`,
  }),
  select('days', 'Expires', DAYS, { error, value: '90' }),
  select('account', 'Account', choices, { error, value: query.account }),
  field('project', 'Only one project', {
    error,
    hint: 'Name or ID. Leave empty for all projects.',
    attributes: html` maxlength="100"${PLAIN_TEXT}`,
  }),
)}
${radios('may', 'Access', MAY, { error, value: 'chosen' })}
<div class="levels">${scopeLevels('Permissions', [], error, tokenScopeDescription)}</div>
<p class="line"><button class="btn primary">Create token</button><a class="btn" href="${LIST}">Cancel</a></p>
</form>`,
  })
}

async function showMade(ctx: ConsoleCtx, { token, bearerToken }: Static<typeof CreatedUserToken>) {
  return personPage(ctx, 'tokens', {
    title: 'Token created',
    body: html`<div class="head"><h1>Token created</h1></div>
${oneTimeSecret(token.name, bearerToken)}
<section class="card in stack"><h2>Try it</h2>${shellCommand(`curl -H "authorization: Bearer $TOKEN" ${ctx.deps.origin()}/v2/user`)}</section>
<p><a class="btn primary" href="${LIST}">Back to tokens</a></p>`,
  })
}
