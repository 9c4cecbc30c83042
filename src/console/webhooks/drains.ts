import type { Static } from 'typebox'
import type { Drain, DrainList, DrainTestResult } from '../../integrations/drains/drain-schema.ts'
import { ENVIRONMENTS, SOURCES } from '../../integrations/drains/schema.ts'
import { note } from '../../platform/pages/face/notes.ts'
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
import { action, field, formErrorNotice } from '../action.ts'
import { oneTimeSecret } from '../controls.ts'
import { type Choice, checkboxesField, dataTable, select, textAreaField } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, accountPath, canInAccount, findAccountOfPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { projectBoxes, projectsToChoose } from './webhook-form.ts'
import { projectCount } from './webhooks.ts'

const LIST = '/console/t/:slug/drains'
const LOGS = { log: { version: 'v1' } }
const FORMATS: readonly Choice[] = [
  ['json', 'JSON: an array of log lines'],
  ['ndjson', 'NDJSON: one JSON object per line'],
]
const NewDrainForm = Type.Object({
  name: Type.String(),
  url: Type.String(),
  format: Type.String(),
  headers: Type.Optional(Type.String()),
  sources: Type.Array(Type.String()),
  environments: Type.Array(Type.String()),
  projectIds: Type.Optional(Type.Array(Type.String())),
})
type Form = Static<typeof NewDrainForm>

/** Form field names by route field. */
const names = {
  'delivery.endpoint': 'url',
  'delivery.encoding': 'format',
  'delivery.headers': 'headers',
  'filter.filter.log.sources': 'sources',
  'filter.filter.deployment.environments': 'environments',
}

export const drainListScreens: readonly Screen[] = [
  consoleScreen({ method: 'GET', path: LIST, name: 'consoleDrains', calls: ['getDrains'], run: showDrains }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/new`,
    name: 'consoleNewDrain',
    calls: ['getProjects'],
    run: (ctx, input) => showNewDrain(ctx, input),
  }),
  action<typeof NewDrainForm, Drain>({
    path: `${LIST}/new`,
    name: 'consoleCreateDrain',
    form: NewDrainForm,
    calls: 'createDrain',
    renderCalls: ['getProjects'],
    fieldNames: names,
    request: ({ form }) => ({ body: bodyOf(form) }),
    next: (made, input, ctx) => showMade(ctx, made, input),
    renderErrors: showNewDrain,
  }),
  action<typeof NewDrainForm, Static<typeof DrainTestResult>>({
    path: `${LIST}/new/test`,
    name: 'consoleTestDrain',
    form: NewDrainForm,
    calls: 'testDrain',
    renderCalls: ['getProjects'],
    fieldNames: names,
    request: ({ form }) => ({ body: { schemas: LOGS, delivery: deliveryOf(form) } }),
    next: (tested, input, ctx) => showNewDrain(ctx, input, undefined, tested),
    renderErrors: showNewDrain,
  }),
]

/** Returns the path of a drain. */
export function drainPath(account: Pick<OwnAccount, 'slug'>, id: string, section = ''): string {
  return accountPath(account, `drains/${encodeURIComponent(id)}${section === '' ? '' : `/${section}`}`)
}

function bodyOf(form: Form) {
  const { name, sources, environments, projectIds } = form
  return {
    name: name.trim(),
    projects: projectIds === undefined ? 'all' : 'some',
    ...(projectIds && { projectIds }),
    filter: { version: 'v2', filter: { type: 'basic', log: { sources }, deployment: { environments } } },
    schemas: LOGS,
    delivery: deliveryOf(form),
  }
}

function deliveryOf({ url, format, headers = '' }: Form) {
  const lines = headers
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const pairs = lines.map((line) => {
    const cut = line.indexOf(':')
    return cut < 0 ? [line, ''] : [line.slice(0, cut).trim(), line.slice(cut + 1).trim()]
  })
  return {
    type: 'http',
    endpoint: url.trim(),
    encoding: format,
    ...(pairs.length > 0 && { headers: Object.fromEntries(pairs) }),
  }
}

async function showDrains(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const { drains } = await ctx.callRoute<Static<typeof DrainList>>('getDrains', { account })
  return accountPage(ctx, account, 'drains', {
    title: 'Log drains',
    body: html`<div class="head"><h1>Log drains</h1>${canInAccount(account, 'drain:write') && html`<a class="btn primary" href="${accountPath(account, 'drains/new')}">New log drain</a>`}</div>
${drains.length === 0 ? nothing() : table(account, drains, ctx.now)}`,
  })
}

function nothing(): Html {
  return html`<div class="card empty"><h2>No log drains yet</h2><p>A log drain sends the logs of your projects to your URL.</p></div>`
}

/** Renders the state of a drain. */
export function drainState({ status, heldAt }: Pick<Drain, 'status' | 'heldAt'>): Html {
  if (heldAt !== undefined) return state('warn', 'On hold: needs an owner')
  if (status === 'enabled') return state('good', 'Active')
  return state('bad', status === 'errored' ? 'Failing' : 'Disabled')
}

function table(account: OwnAccount, drains: readonly Drain[], now: number): Html {
  return dataTable(
    'Log drains',
    ['Name', 'State', 'URL', 'Projects', 'Changed'],
    drains.map(
      (
        drain,
      ) => html`<tr><td><a href="${drainPath(account, drain.id)}">${drain.name}</a>${drain.source.kind === 'integration' && html`<br><span class="badge">Integration</span>`}</td>
<td>${drainState(drain)}</td><td>${drain.delivery.endpoint}</td><td>${projectCount(drain)}</td><td>${relativeTime(drain.updatedAt, now)}</td></tr>`,
    ),
  )
}

async function showNewDrain(
  ctx: ConsoleCtx,
  { params, form }: ScreenInput,
  error?: FormError,
  tested?: Static<typeof DrainTestResult>,
) {
  const account = await findAccountOfPath(ctx, params)
  // A test keeps the submitted values, like an error.
  const shown =
    error ?? (tested && { message: '', field: undefined, typed: form as Record<string, unknown>, extra: {} })
  const toNew = accountPath(account, 'drains/new')
  return accountPage(ctx, account, 'drains', {
    title: 'New log drain',
    body: html`<div class="head"><h1>New log drain</h1></div>
${formErrorNotice(error)}
${tested && testNotice(tested)}
<form class="card in stack form" method="post" action="${toNew}" data-turbo="false">
${csrfFields(ctx)}
${field('name', 'Name', { required: true, error: shown, attributes: html` maxlength="100" autocomplete="off"` })}
${field('url', 'URL', { type: 'url', required: true, error: shown, attributes: html` autocomplete="off" maxlength="2048"` })}
${select('format', 'Format', FORMATS, { error: shown })}
${textAreaField('headers', 'Headers', { error: shown, hint: 'Sent with every request, one per line: "Authorization: Bearer …". Values are not shown again. Optional.' })}
${checkboxesField(
  'sources',
  'Sources',
  SOURCES.map((source) => [source, source] as const),
  { error: shown, chosen: SOURCES },
)}
${checkboxesField(
  'environments',
  'Environments',
  ENVIRONMENTS.map((environment) => [environment, environment] as const),
  { error: shown, chosen: ENVIRONMENTS },
)}
${projectBoxes(await projectsToChoose(ctx, account), [], shown)}
<p class="line"><button class="btn primary">Create log drain</button><button class="btn" formaction="${accountPath(account, 'drains/new/test')}">Send a test line</button><a class="btn" href="${accountPath(account, 'drains')}">Cancel</a></p>
</form>`,
  })
}

function testNotice({ status, error }: Static<typeof DrainTestResult>): Html {
  return status === undefined
    ? note('info', 'Test line delivered.', { role: 'status' })
    : note('bad', html`Test line not delivered: ${error}.`, { role: 'status' })
}

async function showMade(ctx: ConsoleCtx, made: Drain, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  return accountPage(ctx, account, 'drains', {
    title: 'Log drain created',
    body: html`<div class="head"><h1>Log drain created</h1></div>
${made.delivery.secret !== undefined && oneTimeSecret('Secret', made.delivery.secret)}
<p class="soft">Signs each request in the header <code>x-vercel-signature</code>.</p>
<p><a class="btn primary" href="${drainPath(account, made.id)}">Go to log drain</a></p>`,
  })
}
