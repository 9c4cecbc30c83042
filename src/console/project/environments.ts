import type { Static } from 'typebox'
import { type EnvironmentList, MAX_ENVIRONMENTS, type ShownEnvironment } from '../../model/environment.ts'
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
import { isStandard } from '../../projects/env/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { cardTitle, dangerCard, sentenceCase } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { type Choice, checkboxField, copyable, dataTable, fieldRow, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { canInAccount, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'

/** Returns the name of an environment as a label: `Production`, and the slug of a custom one as it is. */
export function environmentName(slug: string): string {
  return isStandard(slug) ? sentenceCase(slug) : slug
}

export type CustomEnvironments = Static<typeof EnvironmentList>['environments']

const LIST = '/console/t/:slug/projects/:name/settings/environments'
const ONE = `${LIST}/:environmentSlugOrId`
const TITLE = 'Custom environments'
const SLUG_HINT = 'Lowercase letters, digits and "-", up to 32 characters, such as staging.'
/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const NewEnvironment = Type.Object({ slug: Text, description: Text })
const Changes = Type.Object({ slug: Text, description: Text, branchType: Text, branchPattern: Text })
const Removal = Type.Object({ deleteVariables: Type.Optional(Type.String()) })

export const environmentScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showEnvironments',
    calls: ['getProjectCustomEnvironments'],
    run: (ctx, input) => showEnvironments(ctx, input),
  }),
  action<typeof NewEnvironment>({
    path: LIST,
    name: 'consoleCreateEnvironment',
    form: NewEnvironment,
    calls: 'createCustomEnvironment',
    renderCalls: ['getProjectCustomEnvironments'],
    request: ({ params, form: { slug = '', description } }) => ({
      params: { idOrName: params.name! },
      body: { slug: slug.trim(), ...(description && { description }) },
    }),
    next: (_, { params }) => environmentsPath(params),
    renderErrors: showEnvironments,
  }),
  consoleScreen({
    method: 'GET',
    path: ONE,
    name: 'showEnvironment',
    calls: ['getCustomEnvironment'],
    run: (ctx, input) => showEnvironment(ctx, input),
  }),
  action<typeof Changes, ShownEnvironment>({
    path: ONE,
    name: 'consoleUpdateEnvironment',
    form: Changes,
    calls: 'updateCustomEnvironment',
    renderCalls: ['getCustomEnvironment'],
    request: ({ params, form }) => ({ params: named(params), body: asBody(form) }),
    changes: [],
    fieldNames: { 'branchMatcher.type': 'branchType', 'branchMatcher.pattern': 'branchPattern' },
    next: ({ id }, { params }) => environmentsPath(params, id ?? params.environmentSlugOrId),
    renderErrors: showEnvironment,
  }),
  action<typeof Removal>({
    path: `${ONE}/remove`,
    name: 'consoleRemoveEnvironment',
    form: Removal,
    calls: 'removeCustomEnvironment',
    renderCalls: ['getCustomEnvironment'],
    request: ({ params, form }) => ({
      params: named(params),
      body: { deleteUnassignedEnvironmentVariables: form.deleteVariables !== undefined },
    }),
    next: (_, { params }) => environmentsPath(params),
    renderErrors: showEnvironment,
  }),
]

/** Returns the custom environments of a project. Screens must declare `getProjectCustomEnvironments`. */
export async function readCustomEnvironments(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: string,
): Promise<CustomEnvironments> {
  const { environments } = await ctx.callRoute<Static<typeof EnvironmentList>>('getProjectCustomEnvironments', {
    account,
    params: { idOrName: project },
  })
  return environments
}

function named({ name, environmentSlugOrId }: ScreenInput['params']) {
  return { idOrName: name!, environmentSlugOrId: environmentSlugOrId! }
}

/** An empty description is cleared. A pattern without a rule is refused by the route. */
function asBody({ slug = '', description, branchType = '', branchPattern = '' }: Static<typeof Changes>) {
  return {
    slug: slug.trim(),
    description: description || null,
    branchMatcher: branchType || branchPattern ? { type: branchType, pattern: branchPattern } : null,
  }
}

function environmentsPath({ slug, name }: ScreenInput['params'], environment?: string): string {
  const end = environment === undefined ? '' : `/${encodeURIComponent(environment)}`
  return projectPath({ slug: slug! }, name!, `settings/environments${end}`)
}

async function showEnvironments(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const environments = await readCustomEnvironments(ctx, account, params.name!)
  const rows = environments.map(
    ({ id, slug, description, createdAt }) =>
      html`<tr><td><a href="${environmentsPath(params, id)}">${slug}</a></td><td>${description}</td><td>${relativeTime(createdAt, ctx.now)}</td></tr>`,
  )
  return projectPage(ctx, account, params.name!, 'settings', {
    title: TITLE,
    body: html`<div class="head"><h1>${TITLE}</h1></div>
${formErrorNotice(error)}
<p>A project can have up to ${MAX_ENVIRONMENTS} custom environments in addition to production, preview and development. Each has variables and can have domains.</p>
${dataTable(TITLE, ['Environment', 'Description', 'Created'], rows, { none: 'No custom environments yet.' })}
${canInAccount(account, 'project:write') && making(ctx, environmentsPath(params), error)}`,
  })
}

function making(ctx: ConsoleCtx, path: string, error: FormError | undefined): Html {
  return html`<form class="card in stack form" method="post" action="${path}">${cardTitle('New environment', 'It gets its own variables and domains.')}
${csrfFields(ctx)}
${field('slug', 'Slug', { required: true, error, hint: SLUG_HINT, attributes: PLAIN_TEXT })}
${field('description', 'Description', { error, hint: 'Optional.', attributes: html` autocomplete="off"` })}
<p class="line"><button class="btn primary">Create environment</button></p>
</form>`
}

async function showEnvironment(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const environment = await ctx.callRoute<ShownEnvironment>('getCustomEnvironment', {
    account,
    params: named(params),
  })
  const path = environmentsPath(params, params.environmentSlugOrId)
  const writes = canInAccount(account, 'project:write')
  return projectPage(ctx, account, params.name!, 'settings', {
    title: environment.slug,
    within: [[TITLE, environmentsPath(params)]],
    body: html`<div class="head"><h1>${environment.slug}</h1></div>
${formErrorNotice(error)}
<section class="card in stack"><h2>Details</h2><dl class="facts"><dt>Description</dt><dd>${environment.description ?? 'none'}</dd><dt>Environment ID</dt><dd>${copyable(environment.id, 'id')}</dd>
${environment.branchMatcher && html`<dt>Branches</dt><dd>${BRANCHES[environment.branchMatcher.type]} <code>${environment.branchMatcher.pattern}</code></dd>`}
<dt>Created</dt><dd>${relativeTime(environment.createdAt, ctx.now)}</dd></dl></section>
${writes && editing(ctx, path, environment, error)}
${writes && removing(ctx, path, environment.slug)}`,
  })
}

/** TABLE Branch matchers: labels. */
const BRANCHES = { startsWith: 'Starts with', equals: 'Equals', endsWith: 'Ends with' }

function editing(ctx: ConsoleCtx, path: string, environment: ShownEnvironment, error: FormError | undefined): Html {
  const { slug, description, branchMatcher } = environment
  const rules: Choice[] = [['', 'None'], ...Object.entries(BRANCHES)]
  return html`<form class="card in stack form" method="post" action="${path}">${cardTitle('Change environment', 'Its ID stays, and so do its variables and domains.')}
${editFields(
  ctx,
  error,
  (
    error,
  ) => html`${field('slug', 'Slug', { value: slug, required: true, error, hint: SLUG_HINT, attributes: PLAIN_TEXT })}
${field('description', 'Description', { value: description, error, hint: 'Optional.', attributes: html` autocomplete="off"` })}
${fieldRow(
  select('branchType', 'Branches', rules, { value: branchMatcher?.type, error }),
  field('branchPattern', 'Pattern', {
    value: branchMatcher?.pattern,
    error,
    hint: 'Your build system reads it, such as release/.',
    attributes: PLAIN_TEXT,
  }),
)}`,
)}
<p class="line"><button class="btn primary">Save</button></p>
</form>`
}

function removing(ctx: ConsoleCtx, path: string, slug: string): Html {
  return dangerCard(
    'Remove environment',
    html`Removes <strong>${slug}</strong>, its domains and the domains that redirect to them. Deployments are kept. Variables of this environment alone are kept without an environment.`,
    html`<details class="twice" id="remove"><summary class="btn">Remove environment…</summary>
<form method="post" action="${path}/remove">${csrfFields(ctx)}
${checkboxField('deleteVariables', 'Also delete variables that are left without an environment', false)}
<p class="line"><button class="btn danger">Remove environment</button></p>
</form></details>`,
  )
}
