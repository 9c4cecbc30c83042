import type { Static } from 'typebox'
import { icon } from '../../../platform/pages/face/icons.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { refuse } from '../../../platform/refusals/refusal.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { EnvVar } from '../../../projects/env/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../../action.ts'
import { cardTitle, confirmedButton, dangerCard } from '../../controls.ts'
import { editFields } from '../../edit-form.ts'
import { type Choice, normalizeLineEnds, select, textAreaField, toStringList } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { findAccountOfPath, projectPage } from '../../frame.ts'
import { readCustomEnvironments } from '../environments.ts'
import { planBlock } from './env-file.ts'
import {
  addButtons,
  afterAdding,
  branchField,
  canChangeVariable,
  canReadVariable,
  DEFAULT_ENVIRONMENTS,
  environmentsBody,
  environmentsField,
  listPath,
  READER_CHOICES,
  VARIABLE_FORM_BYTES,
  VARIABLE_PATH,
  VARIABLES_PATH,
  writableChoices,
} from './environments.ts'

/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const Variable = Type.Object({
  key: Text,
  value: Text,
  target: Type.Optional(Type.Array(Type.String())),
  gitBranch: Text,
  type: Text,
  comment: Text,
})
const NewVariable = Type.Object({ ...Variable.properties, after: Text })

export const variableFormScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${VARIABLES_PATH}/new`,
    name: 'showNewVariable',
    calls: ['getProjectCustomEnvironments'],
    run: (ctx, input) => showNew(ctx, input),
  }),
  action({
    path: `${VARIABLES_PATH}/new`,
    name: 'consoleCreateVariable',
    form: NewVariable,
    bodyLimit: VARIABLE_FORM_BYTES,
    calls: 'createProjectEnv',
    renderCalls: ['getProjectCustomEnvironments', 'putProjectEnvFile'],
    request: ({ params, form }) => ({
      params: { idOrName: params.name! },
      body: {
        ...environmentsBody(toStringList(form.target)),
        key: (form.key ?? '').trim(),
        value: normalizeLineEnds(form.value ?? ''),
        type: form.type,
        ...(form.gitBranch && { gitBranch: form.gitBranch }),
        ...(form.comment && { comment: form.comment }),
      },
    }),
    next: (_, { params, form }) => afterAdding(listPath({ slug: params.slug! }, params.name!), form),
    renderErrors: showNewAgain,
  }),
  consoleScreen({
    method: 'GET',
    path: `${VARIABLE_PATH}/edit`,
    name: 'showVariable',
    calls: ['filterProjectEnvs', 'getProjectCustomEnvironments'],
    run: (ctx, input) => showEdit(ctx, input),
  }),
  action({
    path: `${VARIABLE_PATH}/edit`,
    name: 'consoleEditVariable',
    form: Variable,
    bodyLimit: VARIABLE_FORM_BYTES,
    calls: 'editProjectEnv',
    renderCalls: ['filterProjectEnvs', 'getProjectCustomEnvironments'],
    request: ({ params, form }) => ({
      params: { idOrName: params.name!, id: params.id! },
      body: {
        ...environmentsBody(toStringList(form.target)),
        key: form.key?.trim(),
        // An empty field keeps the value.
        ...(form.value && { value: normalizeLineEnds(form.value) }),
        type: form.type,
        gitBranch: form.gitBranch || null,
        comment: form.comment || null,
      },
    }),
    // Sent together, because a branch requires preview alone.
    changes: [['target', 'customEnvironmentIds', 'gitBranch']],
    next: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    renderErrors: showEdit,
  }),
]

/** `KEY=value` is not a key, so the route error a block: its plan is shown instead. */
async function showNewAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError) {
  const block = blockIn(input.form as Static<typeof Variable>)
  return block === undefined ? showNew(ctx, input, error) : planBlock(ctx, input, block)
}

/** Returns the `KEY=value` lines in the field of the key, or in that of the value without a key. */
function blockIn({ key = '', value = '' }: Static<typeof Variable>): string | undefined {
  const [block, rest] = key.trim() === '' ? [value, ''] : [key, value]
  return rest === '' && block.includes('=') ? block : undefined
}

async function showNew(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  return projectPage(ctx, account, project, 'variables', {
    title: 'Add variable',
    body: html`<div class="head"><h1>Add variable</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
${inputs(undefined, choices, error)}
${addButtons('Add variable', listPath(account, project))}
</form>`,
  })
}

async function showEdit(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const variable = await findListed(ctx, account, params)
  if (!canChangeVariable(account, variable))
    refuse('missing_permission', 'Your role cannot change production variables.')
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  const path = `${listPath(account, project)}/${variable.id}`
  return projectPage(ctx, account, project, 'variables', {
    title: variable.key,
    within: [],
    body: html`<div class="head"><h1><code>${variable.key}</code></h1><p class="line">${canReadVariable(account, variable) && html`<a class="btn quiet" href="${path}">${icon('eye')}Reveal value</a>`}<a class="btn quiet" href="${path}/history">${icon('history')}History</a></p></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">${cardTitle('Variable', 'Deployments that exist keep the value they have.')}
${editFields(ctx, error, (error) => inputs(variable, choices, error))}
<p class="line"><button class="btn primary">Save</button><a class="btn" href="${listPath(account, project)}">Cancel</a></p>
</form>
<div id="delete">${dangerCard(
      'Delete variable',
      html`Future deployments won't have <code>${variable.key}</code>. Its values are erased now, history included.`,
      confirmedButton(ctx, `${path}/delete`, 'Delete variable', { label: `Delete variable ${variable.key}` }),
    )}</div>`,
  })
}

/** Reads the variable from the list, without its value, so no secret read is logged. Refuses: not_found 404. */
async function findListed(ctx: ConsoleCtx, account: OwnAccount, { name, id }: ScreenInput['params']): Promise<EnvVar> {
  const { envs } = await ctx.callRoute<{ envs: EnvVar[] }>('filterProjectEnvs', {
    account,
    params: { idOrName: name! },
  })
  return envs.find((variable) => variable.id === id) ?? refuse('not_found', 'This project has no such variable.')
}

function inputs(variable: EnvVar | undefined, choices: readonly Choice[], error: FormError | undefined): Html {
  const chosen = variable === undefined ? DEFAULT_ENVIRONMENTS : [...variable.target, ...variable.customEnvironmentIds]
  const isNew = variable === undefined
  return html`${field('key', 'Key', { value: variable?.key, required: !isNew, error, attributes: html`${PLAIN_TEXT}${isNew && html` data-block="value"`}` })}
${textAreaField('value', 'Value', { error, hint: isNew ? 'For many at once, leave the key empty and paste KEY=value lines here. You review them next.' : 'Leave empty to keep the current value.' })}
${environmentsField(choices, chosen, error)}
${branchField('Preview only. Overrides the general value for this branch.', { value: variable?.gitBranch, error })}
${select('type', 'Visibility', typesFor(variable), { value: variable?.type ?? 'encrypted', error, hint: variable?.type === 'sensitive' ? 'A write-only variable cannot be made readable.' : undefined })}
${field('comment', 'Comment', { value: variable?.comment, error })}`
}

/** Write-only is permanent. Types that only API clients set are kept. */
function typesFor(variable: EnvVar | undefined): readonly Choice[] {
  if (variable?.type === 'sensitive') return READER_CHOICES.filter(([type]) => type === 'sensitive')
  if (variable === undefined || READER_CHOICES.some(([type]) => type === variable.type)) return READER_CHOICES
  return [[variable.type, `Current (${variable.type})`], ...READER_CHOICES]
}
