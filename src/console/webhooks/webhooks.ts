import type { Static } from 'typebox'
import { EVENT_NAMES } from '../../events.ts'
import type { CreatedWebhook, Webhook } from '../../integrations/webhooks/schema.ts'
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
import type { ProjectList } from '../../projects/projects/schema.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { countOf, oneTimeSecret } from '../controls.ts'
import { checkboxesField, dataTable, groupedCheckboxesField } from '../fields.ts'
import { accountPath, canInAccount, consolePage, findAccountOfPath } from '../frame.ts'
import type { Refused } from '../refused.ts'
import { relativeTime } from '../time.ts'

const LIST = '/console/t/:slug/webhooks'
/** Most projects to choose from, the newest. */
const CHOICES = 50
const NewEndpoint = Type.Object({
  url: Type.String(),
  events: Type.Array(Type.String()),
  projectIds: Type.Optional(Type.Array(Type.String())),
})

/** TABLE Event groups: name prefix and heading. */
const SUBJECTS: Record<string, string> = {
  project: 'Projects',
  'project.transfer': 'Project transfers',
  'project.domain': 'Domains',
  'project.env-variable': 'Variables',
  'integration-configuration': 'Integrations',
  deployment: 'Deployments',
}
const EVENT_GROUPS = [...Map.groupBy(EVENT_NAMES, (name) => name.slice(0, name.lastIndexOf('.')))].map(
  ([about, names]) => [SUBJECTS[about]!, names.map((name) => [name, name] as const)] as const,
)

export const webhookListScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: LIST, name: 'consoleWebhooks', calls: ['getWebhooks'], run: showWebhooks }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/new`,
    name: 'consoleNewWebhook',
    calls: ['getProjects'],
    run: showNewWebhook,
  }),
  action<typeof NewEndpoint, Static<typeof CreatedWebhook>>({
    path: `${LIST}/new`,
    name: 'consoleCreateWebhook',
    form: NewEndpoint,
    asks: 'createWebhook',
    shows: ['getProjects'],
    wish: ({ form: { url, ...form } }) => ({ body: { url: url.trim(), ...form } }),
    to: (made, input, ctx) => showMade(ctx, made, input),
    again: showNewWebhook,
  }),
]

/** Returns the path of a webhook. */
export function webhookPath(account: Pick<OwnAccount, 'slug'>, id: string, section = ''): string {
  return accountPath(account, `webhooks/${encodeURIComponent(id)}${section === '' ? '' : `/${section}`}`)
}

/** Renders the state of an endpoint with its reason. */
export function endpointState(
  one: Pick<Webhook, 'disabledAt' | 'disabledReason' | 'heldAt' | 'failingSince'>,
  now: number,
): Html {
  if (one.heldAt !== undefined) return state('warn', 'On hold: needs an owner')
  if (one.disabledAt !== undefined)
    return state('bad', html`Disabled${one.disabledReason && `: ${one.disabledReason}`}`)
  if (one.failingSince !== undefined)
    return html`${state('bad', 'Failing')} <span class="soft small">began ${relativeTime(one.failingSince, now)}</span>`
  return state('good', 'Active')
}

async function showWebhooks(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const webhooks = await ctx.ask<Webhook[]>('getWebhooks', { account })
  return consolePage(
    ctx,
    { account, tab: 'webhooks' },
    {
      title: 'Webhooks',
      body: html`<div class="head"><h1>Webhooks</h1>${canInAccount(account, 'webhook:write') && html`<a class="btn primary" href="${accountPath(account, 'webhooks/new')}">New webhook</a>`}</div>
${webhooks.length === 0 ? nothing() : table(account, webhooks, ctx.now)}`,
    },
  )
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No webhooks yet</h2>
<p>A webhook sends events to your URL: a deployment is ready, a domain is verified, a variable was changed.</p></div>`
}

function table(account: OwnAccount, webhooks: readonly Webhook[], now: number): Html {
  return dataTable(
    'Webhooks',
    ['URL', 'State', 'Events', 'Projects', 'Changed'],
    webhooks.map(
      (
        one,
      ) => html`<tr><td><a href="${webhookPath(account, one.id)}">${one.url}</a>${one.configurationId && html`<br><span class="badge">Integration</span>`}</td>
<td>${endpointState(one, now)}</td><td>${countOf(one.events.length, 'event')}</td><td>${projectCount(one)}</td><td>${relativeTime(one.updatedAt, now)}</td></tr>`,
    ),
  )
}

/** Returns `2 projects`, or `All projects` without a limit. */
export function projectCount({ projectIds }: { projectIds?: readonly string[] }): string {
  return projectIds === undefined ? 'All projects' : countOf(projectIds.length, 'project')
}

async function showNewWebhook(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: 'webhooks' },
    {
      title: 'New webhook',
      body: html`<div class="head"><h1>New webhook</h1></div>
${formErrorNotice(refused)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${field('url', 'URL', { type: 'url', required: true, refused, hint: 'Receives each event by POST, signed with a secret that is shown once.', attributes: html` autocomplete="off" maxlength="2048"` })}
${groupedCheckboxesField('events', 'Events', EVENT_GROUPS, { chosen: [], refused })}
${await projectBoxes(ctx, account, refused)}
<p class="line"><button class="btn primary">Create webhook</button><a class="btn" href="${accountPath(account, 'webhooks')}">Cancel</a></p>
</form>`,
    },
  )
}

/** Renders the projects to which an endpoint can be limited. */
export async function projectBoxes(ctx: ConsoleCtx, account: OwnAccount, refused: Refused | undefined): Promise<Html> {
  const query = { limit: String(CHOICES) }
  const { projects } = await ctx.ask<Static<typeof ProjectList>>('getProjects', { account, query })
  if (projects.length === 0) return html``
  const choices = projects.map(({ id, name }) => [id, name] as const)
  return checkboxesField('projectIds', 'Projects', choices, {
    chosen: [],
    refused,
    hint: 'Leave empty for all projects, present and future.',
  })
}

async function showMade(ctx: ConsoleCtx, made: Static<typeof CreatedWebhook>, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: 'webhooks' },
    {
      title: 'Webhook created',
      body: html`<div class="head"><h1>Webhook created</h1></div>
${oneTimeSecret('Secret', made.secret)}
<p class="soft">Verify each event with it. <a href="/docs?search=webhooks">Learn how</a></p>
<p><a class="btn primary" href="${webhookPath(account, made.id)}">Go to webhook</a></p>`,
    },
  )
}
