/** The tokens of a person: the list, making one, whose text is shown once, and revoking one. docs/accounts.md: Tokens. */
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
import { action, field, formErrorNotice } from '../action.ts'
import { button, heading, oneTimeSecret, paginationLinks } from '../controls.ts'
import { type Choice, dataTable, fieldRow, radios, select } from '../fields.ts'
import { accountPath, consolePage, findAccountOfPath, personPath } from '../frame.ts'
import type { Refused } from '../refused.ts'
import { chosenScopes, SCOPE_LEVELS, scopeLevels } from '../scope-levels.ts'
import { lastUsedLabel, relativeTime } from '../time.ts'

const LIST = personPath('tokens')
/** Of an account: the person's tokens that open it. */
const OF_ACCOUNT = '/console/t/:slug/tokens'
const PAGE = 20
/** Of an account: so many of the person's tokens are looked through for a page. */
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
  ['7', 'in 7 days'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
]
/** TABLE how much a token may: the field `may` of the form. */
const MAY = [
  ['all', 'Everything that I may', 'Now and later, also what you are given after today.'],
  ['chosen', 'Only what I choose', 'Nothing else, whatever you are given later.'],
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
    asks: 'createAuthToken',
    shows: [],
    fresh: true,
    names: { projectId: 'project', expiresAt: 'days' },
    wish: ({ form }, now) => ({
      ...(form.account !== '' && { account: { id: form.account } }),
      body: bodyOf(form, now),
    }),
    to: (made, _, ctx) => showMade(ctx, made),
    again: (ctx, input, refused) => showNewToken(ctx, { ...input, query: {} }, refused),
  }),
  action({
    path: `${LIST}/:id/end`,
    name: 'consoleEndToken',
    asks: 'deleteAuthToken',
    shows: ['listAuthTokens'],
    wish: ({ params }) => ({ params: { id: params.id! } }),
    to: () => LIST,
    again: (ctx, input, refused) => showTokens(ctx, { ...input, query: {} }, refused),
  }),
]

function bodyOf(form: Static<typeof NewToken>, now: number) {
  const { name, project, days } = form
  return {
    name: name.trim(),
    ...(project?.trim() && { projectId: project.trim() }),
    // What is no number of days goes on as it is, and the route says what is wrong with it.
    ...(days !== '' && { expiresAt: /^[0-9]{1,4}$/.test(days) ? now + Number(days) * DAY_MS : days }),
    ...(form.may !== 'all' && { scopes: scopesIn(form) }),
  }
}

/** What was chosen for a token that may not do everything. Refuses: bad_request 400 (nothing was). */
function scopesIn(form: Static<typeof NewToken>): string[] {
  if (form.may !== 'chosen') refuse('bad_request', 'Invalid request: `may` should be one of the two.')
  const scopes = chosenScopes(form)
  if (scopes.length > 0) return scopes
  refuse('bad_request', 'Invalid request: `scopes` should have at least one level that is not “No”.')
}

async function showTokens(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof Query>>, refused?: Refused) {
  const { tokens, pagination } = await ctx.ask<Static<typeof UserTokenList>>('listAuthTokens', {
    query: { limit: String(PAGE), until: query.until },
  })
  return consolePage(
    ctx,
    { person: true, tab: 'tokens' },
    {
      title: 'Tokens',
      body: html`<div class="top"><h1>Tokens</h1><a class="button" href="${LIST}/new">New token</a></div>
${formErrorNotice(refused)}
${tokens.length === 0 ? nothing() : table(ctx, tokens, await accountsOf(ctx))}
${paginationLinks(LIST, { until: query.until }, pagination.next)}`,
    },
  )
}

/** The person's tokens that open an account: those for all of their accounts, and those for this one alone. */
async function showTokensOfAccount(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof Query>>) {
  const account = await findAccountOfPath(ctx, params)
  const { tokens, pagination } = await ctx.ask<Static<typeof UserTokenList>>('listAuthTokens', {
    account,
    query: { limit: String(LOOKED_THROUGH), until: query.until },
  })
  const here = tokens.filter(({ teamId }) => teamId === undefined || teamId === account.id)
  return consolePage(
    ctx,
    { account, tab: 'tokens' },
    {
      title: 'Tokens',
      body: html`${heading('Your tokens', html`<a class="button" href="${LIST}/new?account=${account.id}">New token</a>`)}
<p class="soft">Your tokens that open the account <strong>${account.slug}</strong>. Nobody else sees them. <a href="${LIST}">All your tokens</a></p>
${here.length === 0 ? nothing() : table(ctx, here, [account])}
${paginationLinks(accountPath(account, 'tokens'), { until: query.until }, pagination.next)}`,
    },
  )
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No token yet</h2><p>With a token programs do what you may: the command line, a pipeline, Terraform.</p></div>`
}

function table(ctx: ConsoleCtx, tokens: readonly Token[], accounts: readonly OwnAccount[]): Html {
  const called = (id: string) => accounts.find((one) => one.id === id)?.slug ?? id
  return dataTable(
    'Tokens',
    ['Name', 'Account', 'Permissions', 'Last used', 'Expires', 'Actions'],
    tokens.map(
      (
        one,
      ) => html`<tr><td>${one.name || one.id}<br><span class="soft small">made ${relativeTime(one.createdAt, ctx.now)}</span></td>
<td>${one.teamId === undefined ? 'all your accounts' : called(one.teamId)}${one.projectIds && html`<br>${one.projectIds.map((id) => html`<code>${id}</code> `)}`}</td>
<td>${one.granted === undefined ? 'everything that you may' : one.granted.map((scope) => html`<span class="tag">${scope}</span> `)}</td>
<td>${lastUsedLabel(one.lastUsedAt ?? null, one.createdAt, ctx.now)}</td>
<td>${one.expiresAt === undefined ? 'never' : relativeTime(one.expiresAt, ctx.now)}</td>
<td class="act">${button(ctx, `${LIST}/${encodeURIComponent(one.id)}/end`, 'Revoke', { label: `Revoke the token ${one.name || one.id}` })}</td></tr>`,
    ),
  )
}

async function showNewToken(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof NewQuery>>, refused?: Refused) {
  const accounts = (await accountsOf(ctx)).filter(({ kind }) => kind === 'team')
  const choices = [
    ['', 'All your accounts'] as const,
    ...accounts.map((one) => [one.id, `${nameOf(one)} alone`] as const),
  ]
  return consolePage(
    ctx,
    { person: true, tab: 'tokens' },
    {
      title: 'New token',
      body: html`<div class="top"><h1>New token</h1></div>
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${LIST}/new" data-turbo="false">
${csrfFields(ctx)}
${fieldRow(
  field('name', 'Name', {
    required: true,
    refused,
    hint: 'What it is for, so that you know it later.',
    attributes: html` maxlength="100" autocomplete="off"`,
  }),
  select('days', 'Expires', DAYS, { refused, value: '90' }),
  select('account', 'Account', choices, { refused, ...(query.account !== undefined && { value: query.account }) }),
  field('project', 'Only one project', {
    refused,
    hint: 'Its name or id. Empty: all projects.',
    attributes: html` maxlength="100" autocomplete="off" autocapitalize="none" spellcheck="false"`,
  }),
)}
${radios('may', 'What it may do', MAY, { refused, value: 'chosen' })}
<div class="levels">${scopeLevels('What you choose', [], refused, tokenScopeDescription)}</div>
<p class="actions"><button>Make the token</button><a class="button quiet" href="${LIST}">Cancel</a></p>
</form>`,
    },
  )
}

async function showMade(ctx: ConsoleCtx, { token, bearerToken }: Static<typeof CreatedUserToken>) {
  return consolePage(
    ctx,
    { person: true, tab: 'tokens' },
    {
      title: 'The token is made',
      body: html`<div class="top"><h1>The token is made</h1></div>
${oneTimeSecret(token.name, bearerToken)}
<section class="card"><h2>Try it</h2><pre>curl -H "authorization: Bearer $TOKEN" ${ctx.deps.origin()}/v2/user</pre></section>
<p><a class="button" href="${LIST}">Back to the tokens</a></p>`,
    },
  )
}
