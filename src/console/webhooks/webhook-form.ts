/** The fields of a webhook, and the page that changes one. docs/webhooks.md. */
import type { Static } from 'typebox'
import { EVENT_NAMES } from '../../events.ts'
import type { Webhook } from '../../integrations/webhooks/schema.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { ProjectList } from '../../projects/projects/schema.ts'
import { action, field, formErrorNotice } from '../action.ts'
import { editFields } from '../edit-form.ts'
import { checkboxesField, groupedCheckboxesField } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, findAccountOfPath } from '../frame.ts'

const EDIT = '/console/t/:slug/webhooks/:id/edit'
/** Most projects to choose from, the newest. */
const CHOICES = 50
const Strings = Type.Optional(Type.Array(Type.String()))
/** `groups`: each stands for all of its events. */
export const WebhookFields = Type.Object({ url: Type.String(), groups: Strings, events: Strings, projectIds: Strings })
type WebhookFields = Static<typeof WebhookFields>

/** TABLE Event groups: name prefix and heading. */
const SUBJECTS: Record<string, string> = {
  project: 'Projects',
  'project.transfer': 'Project transfers',
  'project.domain': 'Domains',
  'project.env-variable': 'Variables',
  'integration-configuration': 'Integrations',
  deployment: 'Deployments',
}
const GROUPS = Map.groupBy(EVENT_NAMES, (name) => name.slice(0, name.lastIndexOf('.')))

export const webhookFormScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: EDIT,
    name: 'consoleEditWebhook',
    calls: ['getWebhook', 'getProjects'],
    run: showEdit,
  }),
  action({
    path: EDIT,
    name: 'consoleUpdateWebhook',
    form: WebhookFields,
    calls: 'updateWebhook',
    renderCalls: ['getWebhook', 'getProjects'],
    request: ({ params, form }) => ({
      params: { id: params.id! },
      body: { url: form.url.trim(), events: eventsOf(form), projectIds: projectsOf(form) ?? null },
    }),
    changes: [],
    next: (_, { params }) => webhookPath({ slug: params.slug! }, params.id!),
    renderErrors: showEdit,
  }),
]

/** Returns the path of a webhook. */
export function webhookPath(account: Pick<OwnAccount, 'slug'>, id: string, section = ''): string {
  return accountPath(account, `webhooks/${encodeURIComponent(id)}${section === '' ? '' : `/${section}`}`)
}

/** Returns the chosen events, those of the chosen groups included. A group that does not exist is passed on, so the route refuses it. */
export function eventsOf({ groups = [], events = [] }: WebhookFields): string[] {
  return [...new Set([...events, ...groups.flatMap((group) => GROUPS.get(group) ?? [group])])]
}

/** Returns the chosen projects; undefined for all. */
export function projectsOf({ projectIds = [] }: WebhookFields): string[] | undefined {
  return projectIds.length === 0 ? undefined : projectIds
}

/** Renders the fields. `one`: the webhook that is changed. */
export function webhookFields(
  projects: readonly Project[],
  error: FormError | undefined,
  webhook?: Pick<Webhook, 'url' | 'events' | 'projectIds'>,
): Html {
  const { events = [], projectIds = [] } = webhook ?? {}
  const groups = [...GROUPS].map(([about, names]) => [SUBJECTS[about]!, namesOf(names), about] as const)
  // Events are registered by other names too, such as those of the ecosystem.
  const others = events.filter((name) => !EVENT_NAMES.some((listed) => listed === name))
  return html`${field('url', 'URL', { type: 'url', value: webhook?.url, required: true, error, hint: 'Receives each event by POST, signed with a secret that is shown once.', attributes: html` autocomplete="off" maxlength="2048"` })}
${groupedCheckboxesField('events', 'Events', [...groups, ...(others.length === 0 ? [] : [['Other names', namesOf(others)] as const])], { chosen: events, error, whole: 'groups' })}
${projectBoxes(projects, projectIds, error)}`
}

function namesOf(names: readonly string[]) {
  return names.map((name) => [name, name] as const)
}

export type Project = { id: string; name: string }

/** Returns the projects to choose from in a form. */
export async function projectsToChoose(ctx: ConsoleCtx, account: OwnAccount): Promise<readonly Project[]> {
  const query = { limit: String(CHOICES) }
  return (await ctx.callRoute<Static<typeof ProjectList>>('getProjects', { account, query })).projects
}

/** Renders the projects to choose from, with those that are chosen. `hint`: by default, that of an endpoint. */
export function projectBoxes(
  projects: readonly Project[],
  chosen: readonly string[],
  error: FormError | undefined,
  hint = 'Leave empty for all projects, present and future.',
): Html | undefined {
  const listed = new Set(projects.map(({ id }) => id))
  const choices = [
    ...projects.map(({ id, name }) => [id, name] as const),
    ...chosen.filter((id) => !listed.has(id)).map((id) => [id, id] as const),
  ]
  if (choices.length === 0) return undefined
  return checkboxesField('projectIds', 'Projects', choices, { chosen, error, hint })
}

async function showEdit(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const webhook = await ctx.callRoute<Webhook>('getWebhook', { account, params: { id: params.id! } })
  const projects = await projectsToChoose(ctx, account)
  const path = webhookPath(account, webhook.id)
  return accountPage(ctx, account, 'webhooks', {
    title: 'Edit webhook',
    within: [['Webhook', path]],
    body: html`<div class="head"><h1>Edit webhook</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${editFields(ctx, error, (error) => webhookFields(projects, error, webhook))}
<p class="soft small">The secret stays. Pending deliveries go to the new URL.</p>
<p class="line"><button class="btn primary">Save</button><a class="btn" href="${path}">Cancel</a></p>
</form>`,
  })
}
