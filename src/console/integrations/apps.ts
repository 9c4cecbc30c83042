import type { Static } from 'typebox'
import type { CreatedIntegration, Integration, IntegrationList } from '../../integrations/integrations/schema.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
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
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { copyButton, oneTimeSecret, paginationLinks } from '../controls.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { appFields, bodyOfApp, NewApp } from './app-form.ts'

const LIST = '/console/t/:slug/apps'
const PAGE = 20
const ListQuery = Type.Object({ until: Type.Optional(Type.String({ maxLength: 20 })) })

export const appListScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'consoleApps',
    query: ListQuery,
    calls: ['getIntegrations'],
    run: showApps,
  }),
  consoleScreen({ method: 'GET', path: `${LIST}/new`, name: 'consoleNewApp', calls: [], run: showNewApp }),
  action<typeof NewApp, Static<typeof CreatedIntegration>>({
    path: `${LIST}/new`,
    name: 'consoleRegisterApp',
    form: NewApp,
    calls: 'createIntegration',
    renderCalls: [],
    request: ({ form }) => ({ body: { slug: form.slug.trim(), ...bodyOfApp(form) } }),
    next: (made, input, ctx) => showMade(ctx, made, input),
    renderErrors: showNewApp,
  }),
]

/** Returns the path of an app. */
export function appPath(account: Pick<OwnAccount, 'slug'>, id: string, section = ''): string {
  return accountPath(account, `apps/${encodeURIComponent(id)}${section === '' ? '' : `/${section}`}`)
}

async function showApps(ctx: ConsoleCtx, { params, query }: ScreenInput<Static<typeof ListQuery>>) {
  const account = await findAccountOfPath(ctx, params)
  const { integrations, pagination } = await ctx.callRoute<Static<typeof IntegrationList>>('getIntegrations', {
    account,
    query: { limit: String(PAGE), until: query.until },
  })
  const isOwner = canInAccount(account, 'integration:write')
  return accountPage(ctx, account, 'apps', {
    title: 'Apps',
    body: html`<div class="head"><h1>Apps</h1>${isOwner && html`<a class="btn primary" href="${accountPath(account, 'apps/new')}">Register app</a>`}</div>
${integrations.length === 0 ? nothing() : html`<ul class="grid">${integrations.map((integration) => card(account, integration, ctx.now))}</ul>`}
${paginationLinks(accountPath(account, 'apps'), { until: query.until }, pagination.next)}`,
  })
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No apps yet</h2>
<p>Apps are integrations your team builds. Users install them on their accounts and grant them access.</p>
<p class="soft small"><a href="/docs/createIntegration">Use the API instead</a></p></div>`
}

function card(account: OwnAccount, integration: Integration, now: number): Html {
  return html`<li class="card in stack"><h2><a href="${appPath(account, integration.id)}">${toSingleLine(integration.name)}</a></h2>
<p><code>${integration.slug}</code></p>
<p class="soft small">${integration.webhookUrl === null ? 'No webhook' : 'Has a webhook'} · changed ${relativeTime(integration.updatedAt, now)}</p></li>`
}

async function showNewApp(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, 'apps', {
    title: 'Register app',
    body: html`<div class="head"><h1>Register app</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${field('slug', 'Slug', { required: true, error, hint: 'Lowercase letters, digits and "-". It becomes part of the install URL and cannot be changed.', attributes: html`${PLAIN_TEXT} maxlength="48"` })}
${appFields(undefined, error)}
<p class="line"><button class="btn primary">Register app</button><a class="btn" href="${accountPath(account, 'apps')}">Cancel</a></p>
</form>`,
  })
}

async function showMade(ctx: ConsoleCtx, made: Static<typeof CreatedIntegration>, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, 'apps', {
    title: 'Registered',
    body: html`<div class="head"><h1>App registered</h1></div>
<section class="card in stack"><h2>Client ID</h2><div class="code"><pre>${made.clientId}</pre>${copyButton('client ID')}</div></section>
${oneTimeSecret('Client secret', made.clientSecret)}
<p><a class="btn primary" href="${appPath(account, made.id)}">Go to app</a></p>`,
  })
}
