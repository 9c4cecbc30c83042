import type { Static } from 'typebox'
import type { InstallationsOf } from '../../integrations/installations/schema.ts'
import type { CreatedClientSecret, Integration } from '../../integrations/integrations/schema.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import { state } from '../../platform/pages/face/states.ts'
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
import { action, formErrorNotice } from '../action.ts'
import { button, cardTitle, confirmedButton, dangerCard, oneTimeSecret, paginationLinks } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { copyable, dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { levelFields } from '../scope-levels.ts'
import { relativeTime } from '../time.ts'
import { appFields, bodyOfApp, ChangedApp } from './app-form.ts'
import { appPath } from './apps.ts'

const ONE = '/console/t/:slug/apps/:id'
const PAGE = 20
const ListQuery = Type.Object({ until: Type.Optional(Type.String({ maxLength: 20 })) })
const Nothing = Type.Object({})
const shows = ['getIntegration', 'getIntegrationInstallations'] as const
function app({ params }: ScreenInput) {
  return { params: { id: params.id! } }
}
function toOne(_: unknown, { params }: ScreenInput): string {
  return appPath({ slug: params.slug! }, params.id!)
}

export const appScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: ONE, name: 'consoleApp', query: ListQuery, calls: shows, run: showApp }),
  consoleScreen({
    method: 'GET',
    path: `${ONE}/change`,
    name: 'consoleChangeApp',
    calls: ['getIntegration'],
    run: showChange,
  }),
  action({
    path: `${ONE}/change`,
    name: 'consoleUpdateApp',
    form: ChangedApp,
    calls: 'updateIntegration',
    renderCalls: ['getIntegration'],
    request: (input) => ({ ...app(input), body: bodyOfApp(input.form) }),
    changes: [],
    // The levels of all scopes are one list.
    present: async (ctx, account, { id }) =>
      levelFields((await ctx.callRoute<Integration>('getIntegration', { account, params: { id: id! } })).scopes),
    next: toOne,
    renderErrors: showChange,
  }),
  consoleScreen({
    method: 'GET',
    path: `${ONE}/secrets`,
    name: 'consoleNewAppSecret',
    calls: ['getIntegration'],
    requiresReauthentication: true,
    run: showNewSecret,
  }),
  action<typeof Nothing, Static<typeof CreatedClientSecret>>({
    path: `${ONE}/secrets`,
    name: 'consoleCreateAppSecret',
    form: Nothing,
    calls: 'createIntegrationSecret',
    renderCalls: ['getIntegration'],
    fresh: true,
    request: app,
    next: (made, input, ctx) => showSecret(ctx, made, input),
    renderErrors: showNewSecret,
  }),
  action({
    path: `${ONE}/secrets/:secretId/delete`,
    name: 'consoleDeleteAppSecret',
    calls: 'deleteIntegrationSecret',
    renderCalls: shows,
    request: ({ params }) => ({ params: { id: params.id!, secretId: params.secretId! } }),
    next: toOne,
    renderErrors: showAgain,
  }),
  action({
    path: `${ONE}/delete`,
    name: 'consoleDeleteApp',
    calls: 'deleteIntegration',
    renderCalls: shows,
    request: app,
    next: (_, { params }) => accountPath({ slug: params.slug! }, 'apps'),
    renderErrors: showAgain,
  }),
]

function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError) {
  return showApp(ctx, { ...input, query: {} }, error)
}

async function showApp(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof ListQuery>>, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const integration = await ctx.callRoute<Integration>('getIntegration', { account, params: { id: params.id! } })
  const found = await ctx.callRoute<Static<typeof InstallationsOf>>('getIntegrationInstallations', {
    account,
    params: { id: integration.id },
    query: { limit: String(PAGE), until: query.until },
  })
  const isOwner = canInAccount(account, 'integration:write')
  return accountPage(ctx, account, 'apps', {
    title: toSingleLine(integration.name),
    within: [],
    body: html`<div class="head"><h1>${toSingleLine(integration.name)}</h1>${isOwner && html`<a class="btn" href="${appPath(account, integration.id, 'change')}">Edit app</a>`}</div>
${formErrorNotice(error)}
${factsOf(account, integration, ctx.now)}
${secretsOf(ctx, account, integration, isOwner)}
${installationsOf(found.installations, ctx.now)}
${paginationLinks(appPath(account, integration.id), { until: query.until }, found.pagination.next)}
${isOwner && removal(ctx, appPath(account, integration.id, 'delete'), found.installations.length > 0 || query.until !== undefined)}`,
  })
}

/** An installed app cannot be removed, so it has no button. */
function removal(ctx: ConsoleCtx, path: string, isInstalled: boolean): Html {
  if (isInstalled)
    return html`<section class="card in stack form">${cardTitle('Remove this app')}
<p>An installed app cannot be removed. Each account above must uninstall it first, on its <em>Integrations</em> page.</p></section>`
  return dangerCard(
    'Remove this app',
    'Its client ID and secrets stop working. You cannot undo this.',
    confirmedButton(ctx, path, 'Remove app'),
  )
}

function factsOf(account: OwnAccount, integration: Integration, now: number): Html {
  return html`<section class="card in stack"><h2>App</h2><dl class="facts">
<dt>Client ID</dt><dd>${copyable(integration.clientId, 'client ID')}</dd>
<dt>Install page</dt><dd><a href="${integration.installUrl}">${integration.installUrl}</a></dd>
<dt>Redirect URL</dt><dd>${integration.redirectUrl}</dd>
<dt>Webhook</dt><dd>${
    integration.webhookId === null
      ? 'None'
      : html`${integration.webhookUrl} · <a href="${accountPath(account, `webhooks/${integration.webhookId}`)}">Deliveries and test event</a>`
  }</dd>
<dt>Requested access</dt><dd>${integration.scopes.length === 0 ? 'None' : integration.scopes.map((scope) => html`<span class="badge">${scope}</span> `)}</dd>
<dt>Changed</dt><dd>${relativeTime(integration.updatedAt, now)}</dd>
</dl></section>`
}

function secretsOf(ctx: ConsoleCtx, account: OwnAccount, integration: Integration, isOwner: boolean): Html {
  const row = ({ id, createdAt }: Integration['secrets'][number]) =>
    html`<tr><td><code>${id}</code></td><td>${relativeTime(createdAt, ctx.now)}</td>${isOwner && html`<td class="act">${button(ctx, appPath(account, integration.id, `secrets/${id}/delete`), 'Revoke', { label: `Revoke the secret ${id}` })}</td>`}</tr>`
  return html`<section class="card in stack"><h2>Client secrets</h2>
${dataTable('Client secrets', ['Secret', 'Created', isOwner && 'Actions'], integration.secrets.map(row))}
${isOwner && html`<p><a class="btn" href="${appPath(account, integration.id, 'secrets')}">Replace secret</a></p>`}</section>`
}

function installationsOf(rows: Static<typeof InstallationsOf>['installations'], now: number): Html {
  if (rows.length === 0)
    return html`<section class="card empty"><h2>No installations yet</h2><p>Share the install page with users.</p></section>`
  return html`<h2>Installations</h2>
${dataTable(
  'Installations',
  ['State', 'Account', 'Installation', 'Projects', 'Installed'],
  rows.map(
    (
      row,
    ) => html`<tr><td>${row.disabledAt === null ? state('good', 'Active') : state('bad', 'Disabled')}</td><td><code>${row.ownerId}</code></td><td><code>${row.id}</code></td>
<td>${row.projectSelection === 'all' ? 'All' : 'Selected'}</td><td>${relativeTime(row.createdAt, now)}</td></tr>`,
  ),
)}`
}

async function showChange(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const integration = await ctx.callRoute<Integration>('getIntegration', { account, params: { id: params.id! } })
  return accountPage(ctx, account, 'apps', {
    title: `Edit ${toSingleLine(integration.name)}`,
    within: [[toSingleLine(integration.name), appPath(account, integration.id)]],
    body: html`<div class="head"><h1>Edit app</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${editFields(ctx, error, (error) => appFields(integration, error))}
<p class="soft small">Additional access takes effect on an account after its owner confirms it.</p>
<p class="line"><button class="btn primary">Save</button><a class="btn" href="${appPath(account, integration.id)}">Cancel</a></p>
</form>`,
  })
}

async function showNewSecret(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const integration = await ctx.callRoute<Integration>('getIntegration', { account, params: { id: params.id! } })
  return accountPage(ctx, account, 'apps', {
    title: 'Replace secret',
    within: [[toSingleLine(integration.name), appPath(account, integration.id)]],
    body: html`<div class="head"><h1>Replace client secret</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">${csrfFields(ctx)}
<p>Create a second secret, configure your app with it, then revoke the first. Both work until you revoke one.</p>
<p class="line"><button class="btn primary">Create second secret</button><a class="btn" href="${appPath(account, integration.id)}">Cancel</a></p></form>`,
  })
}

async function showSecret(ctx: ConsoleCtx, made: Static<typeof CreatedClientSecret>, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, 'apps', {
    title: 'Second secret created',
    body: html`<div class="head"><h1>Second secret created</h1></div>
${oneTimeSecret('Client secret', made.clientSecret)}
<p><a class="btn primary" href="${appPath(account, params.id!)}">Back to app</a></p>`,
  })
}
