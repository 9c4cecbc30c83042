/** The webhooks of an account: the list, and registering one, whose secret is shown once. */
import type { Static } from 'typebox'
import { EVENT_NAMES } from '../../events.ts'
import type { CreatedWebhook, Webhook } from '../../integrations/webhooks/schema.ts'
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
/** So many projects can be chosen from, the newest. */
const CHOICES = 50
const NewEndpoint = Type.Object({
  url: Type.String(),
  events: Type.Array(Type.String()),
  projectIds: Type.Optional(Type.Array(Type.String())),
})

/** TABLE what events are about: how their names begin, and the heading above them. */
const SUBJECTS: Record<string, string> = {
  project: 'Projects',
  'project.transfer': 'Transfers of projects',
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

/** The page of a webhook, and what follows it. */
export function webhookPath(account: Pick<OwnAccount, 'slug'>, id: string, section = ''): string {
  return accountPath(account, `webhooks/${encodeURIComponent(id)}${section === '' ? '' : `/${section}`}`)
}

/** Whether an endpoint is sent to, and why not. */
export function endpointState(
  one: Pick<Webhook, 'disabledAt' | 'disabledReason' | 'heldAt' | 'failingSince'>,
  now: number,
): Html {
  if (one.heldAt !== undefined) return html`<span class="state warn">Held: it needs an owner</span>`
  if (one.disabledAt !== undefined)
    return html`<span class="state bad">Disabled${one.disabledReason && `: ${one.disabledReason}`}</span>`
  if (one.failingSince !== undefined)
    return html`<span class="state bad">Failing</span> <span class="soft small">began ${relativeTime(one.failingSince, now)}</span>`
  return html`<span class="state good">Active</span>`
}

async function showWebhooks(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const webhooks = await ctx.ask<Webhook[]>('getWebhooks', { account })
  return consolePage(
    ctx,
    { account, tab: 'webhooks' },
    {
      title: 'Webhooks',
      body: html`<div class="top"><h1>Webhooks</h1>${canInAccount(account, 'webhook:write') && html`<a class="button" href="${accountPath(account, 'webhooks/new')}">New webhook</a>`}</div>
${webhooks.length === 0 ? nothing() : table(account, webhooks, ctx.now)}`,
    },
  )
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No webhook yet</h2>
<p>A webhook tells a URL of yours what happens here: a deployment is ready, a domain is verified, a variable was changed.</p></div>`
}

function table(account: OwnAccount, webhooks: readonly Webhook[], now: number): Html {
  return dataTable(
    'Webhooks',
    ['URL', 'State', 'Events', 'Projects', 'Changed'],
    webhooks.map(
      (
        one,
      ) => html`<tr><td><a href="${webhookPath(account, one.id)}">${one.url}</a>${one.configurationId && html`<br><span class="tag">of an integration</span>`}</td>
<td>${endpointState(one, now)}</td><td>${countOf(one.events.length, 'event')}</td><td>${projectCount(one)}</td><td>${relativeTime(one.updatedAt, now)}</td></tr>`,
    ),
  )
}

/** `2 projects`, or `all projects` where an endpoint is limited to none. */
export function projectCount({ projectIds }: { projectIds?: readonly string[] }): string {
  return projectIds === undefined ? 'all projects' : countOf(projectIds.length, 'project')
}

async function showNewWebhook(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: 'webhooks' },
    {
      title: 'New webhook',
      body: html`<div class="top"><h1>New webhook</h1></div>
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${field('url', 'URL', { type: 'url', required: true, refused, hint: 'Berth posts each event there, signed with a secret that you see once.', attributes: html` autocomplete="off" maxlength="2048"` })}
${groupedCheckboxesField('events', 'Events', EVENT_GROUPS, { chosen: [], refused })}
${await projectBoxes(ctx, account, refused)}
<p class="actions"><button>Make the webhook</button><a class="button quiet" href="${accountPath(account, 'webhooks')}">Cancel</a></p>
</form>`,
    },
  )
}

/** The projects that an endpoint may be limited to. */
export async function projectBoxes(ctx: ConsoleCtx, account: OwnAccount, refused: Refused | undefined): Promise<Html> {
  const query = { limit: String(CHOICES) }
  const { projects } = await ctx.ask<Static<typeof ProjectList>>('getProjects', { account, query })
  if (projects.length === 0) return html``
  const choices = projects.map(({ id, name }) => [id, name] as const)
  return checkboxesField('projectIds', 'Projects', choices, {
    chosen: [],
    refused,
    hint: 'Leave all empty for all projects, also those that are made later.',
  })
}

async function showMade(ctx: ConsoleCtx, made: Static<typeof CreatedWebhook>, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  return consolePage(
    ctx,
    { account, tab: 'webhooks' },
    {
      title: 'The webhook is made',
      body: html`<div class="top"><h1>The webhook is made</h1></div>
${oneTimeSecret('Secret', made.secret)}
<p class="soft">Your receiver verifies each event with it: <a href="/docs?search=webhooks">how</a>.</p>
<p><a class="button" href="${webhookPath(account, made.id)}">Go to the webhook</a></p>`,
    },
  )
}
