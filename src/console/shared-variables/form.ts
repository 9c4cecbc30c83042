/** Adding, changing and deleting a shared variable. docs/shared-variables.md. */
import { icon } from '../../platform/pages/face/icons.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { TARGETS } from '../../projects/env/schema.ts'
import type { SharedVariable } from '../../projects/shared-env/schema.ts'
import { action, field, formErrorNotice, PLAIN_TEXT } from '../action.ts'
import { cardTitle, confirmedButton, dangerCard } from '../controls.ts'
import { editFields } from '../edit-form.ts'
import { type Choice, normalizeLineEnds, select, textAreaField } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { accountPage, findAccountOfPath } from '../frame.ts'
import {
  addButtons,
  afterAdding,
  canChangeVariable,
  canReadVariable,
  environmentsField,
  READER_CHOICES,
  VARIABLE_FORM_BYTES,
  writableChoices,
} from '../project/variables/environments.ts'
import { projectBoxes, projectsToChoose } from '../webhooks/webhook-form.ts'
import { listSharedVariables, SHARED_PATH, sharedPath } from './list.ts'

const ONE = `${SHARED_PATH}/:id`
/** The route validates, so the form keeps the submitted values. */
const Text = Type.Optional(Type.String())
const Strings = Type.Optional(Type.Array(Type.String()))
const Shared = Type.Object({ key: Text, value: Text, target: Strings, type: Text, comment: Text, projectIds: Strings })
const NewShared = Type.Object({ ...Shared.properties, after: Text })
const EDIT_CALLS = ['listSharedEnvVariable', 'getProjects']
const PROJECTS_HINT = 'The projects that changed last. Link others from their Variables page.'

function toList(_: unknown, { params }: Pick<ScreenInput, 'params'>): string {
  return sharedPath({ slug: params.slug! })
}

export const sharedVariableFormScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${SHARED_PATH}/new`,
    name: 'showNewSharedVariable',
    calls: ['getProjects'],
    run: (ctx, input) => showNew(ctx, input),
  }),
  action({
    path: `${SHARED_PATH}/new`,
    name: 'consoleCreateSharedVariable',
    form: NewShared,
    bodyLimit: VARIABLE_FORM_BYTES,
    calls: 'createSharedEnvVariable',
    renderCalls: ['getProjects'],
    fieldNames: { 'evs.0.comment': 'comment', projectId: 'projectIds' },
    request: ({ form: { key = '', value = '', comment, type, target = [], projectIds = [] } }) => ({
      body: {
        evs: [{ key: key.trim(), value: normalizeLineEnds(value), ...(comment && { comment }) }],
        type,
        target,
        projectId: projectIds,
      },
    }),
    next: (_, { params, form }) => afterAdding(sharedPath({ slug: params.slug! }), form),
    renderErrors: showNew,
  }),
  consoleScreen({
    method: 'GET',
    path: `${ONE}/edit`,
    name: 'showSharedVariable',
    calls: EDIT_CALLS,
    run: (ctx, input) => showEdit(ctx, input),
  }),
  action({
    path: `${ONE}/edit`,
    name: 'consoleEditSharedVariable',
    form: Shared,
    bodyLimit: VARIABLE_FORM_BYTES,
    calls: 'updateSharedEnvVariable',
    renderCalls: EDIT_CALLS,
    fieldNames: { projectId: 'projectIds' },
    request: ({ form: { key, value, comment, type, target = [], projectIds = [] } }) => ({
      body: {
        key: key?.trim(),
        // An empty field keeps the value.
        ...(value && { value: normalizeLineEnds(value) }),
        comment: comment || null,
        type,
        target,
        projectId: projectIds,
      },
    }),
    changes: [],
    within: ({ id }) => ['updates', id!],
    next: toList,
    renderErrors: showEdit,
  }),
  action({
    path: `${ONE}/delete`,
    name: 'consoleDeleteSharedVariable',
    calls: 'deleteSharedEnvVariable',
    renderCalls: EDIT_CALLS,
    request: ({ params }) => ({ body: { ids: [params.id!] } }),
    next: toList,
    renderErrors: showEdit,
  }),
]

async function showNew(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const projects = await projectsToChoose(ctx, account)
  return accountPage(ctx, account, 'variables', {
    title: 'Add shared variable',
    body: html`<div class="head"><h1>Add shared variable</h1></div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">
${csrfFields(ctx)}
${sharedFields(undefined, writableChoices(account, []), error)}
${projectBoxes(projects, [], error, PROJECTS_HINT)}
${addButtons('Add shared variable', sharedPath(account))}
</form>`,
  })
}

/** Reads the variable from the list, without its value, so no secret read is logged. Refuses: not_found 404, missing_permission 403. */
async function showEdit(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const [variable] = await listSharedVariables(ctx, account, { ids: params.id! })
  if (variable === undefined) refuse('not_found', 'This account has no such shared variable.')
  if (!canChangeVariable(account, variable))
    refuse('missing_permission', 'Your role cannot change production variables.')
  const projects = await projectsToChoose(ctx, account)
  const { id, key, projectId } = variable
  const path = sharedPath(account, id)
  return accountPage(ctx, account, 'variables', {
    title: key,
    within: [],
    body: html`<div class="head"><h1><code>${key}</code></h1>${canReadVariable(account, variable) && html`<a class="btn quiet" href="${path}">${icon('eye')}Reveal value</a>`}</div>
${formErrorNotice(error)}
<form class="card in stack form" method="post" action="${url}">${cardTitle('Variable', 'Deployments that exist keep the value they have.')}
${editFields(
  ctx,
  error,
  (error) => html`${sharedFields(variable, writableChoices(account, []), error)}
${projectBoxes(projects, projectId, error, PROJECTS_HINT)}`,
)}
<p class="line"><button class="btn primary">Save</button><a class="btn" href="${sharedPath(account)}">Cancel</a></p>
</form>
${dangerCard(
  'Delete shared variable',
  html`Future deployments of its projects won't have <code>${key}</code>. Its value is erased now.`,
  confirmedButton(ctx, `${path}/delete`, 'Delete shared variable', { label: `Delete shared variable ${key}` }),
)}`,
  })
}

/** The fields of a variable of a project that shared ones have too. */
function sharedFields(
  variable: SharedVariable | undefined,
  choices: readonly Choice[],
  error: FormError | undefined,
): Html {
  const isSecret = variable?.type === 'sensitive'
  const types = READER_CHOICES.filter(([type]) => type === 'sensitive' || (type === 'encrypted' && !isSecret))
  return html`${field('key', 'Key', { value: variable?.key, required: true, error, attributes: PLAIN_TEXT })}
${textAreaField('value', 'Value', { error, hint: variable && 'Leave empty to keep the current value.' })}
${environmentsField(choices, variable?.target ?? TARGETS, error)}
${select('type', 'Visibility', types, { value: variable?.type ?? 'encrypted', error, hint: isSecret ? 'A write-only variable cannot be made readable.' : undefined })}
${field('comment', 'Comment', { value: variable?.comment, error })}`
}
