/** Adding and editing a variable: one form. */

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
import { type EnvVar, TARGETS } from '../../../projects/env/schema.ts'
import { action, field, formErrorNotice } from '../../action.ts'
import { confirmedButton, dangerCard } from '../../controls.ts'
import { editFields } from '../../edit-form.ts'
import { type Choice, normalizeLineEnds, select, textAreaField, toStringList } from '../../fields.ts'
import { consolePage, findAccountOfPath } from '../../frame.ts'
import type { Refused } from '../../refused.ts'
import { readCustomEnvironments } from '../environments.ts'
import {
  branchField,
  canChangeVariable,
  canReadVariable,
  environmentsBody,
  environmentsField,
  listPath,
  READER_CHOICES,
  VARIABLE_FORM_BYTES,
  VARIABLE_PATH,
  VARIABLES_PATH,
  writableChoices,
} from './environments.ts'

/** The route says what is wrong with a field, so that what was typed comes back. */
const Text = Type.Optional(Type.String())
const Variable = Type.Object({
  key: Text,
  value: Text,
  target: Type.Optional(Type.Array(Type.String())),
  gitBranch: Text,
  type: Text,
  comment: Text,
})

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
    form: Variable,
    bodyLimit: VARIABLE_FORM_BYTES,
    asks: 'createProjectEnv',
    shows: ['getProjectCustomEnvironments'],
    wish: ({ params, form }) => ({
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
    to: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    again: showNew,
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
    asks: 'editProjectEnv',
    shows: ['filterProjectEnvs', 'getProjectCustomEnvironments'],
    wish: ({ params, form }) => ({
      params: { idOrName: params.name!, id: params.id! },
      body: {
        ...environmentsBody(toStringList(form.target)),
        key: form.key?.trim(),
        // An empty text keeps the value.
        ...(form.value && { value: normalizeLineEnds(form.value) }),
        type: form.type,
        gitBranch: form.gitBranch || null,
        comment: form.comment || null,
      },
    }),
    // Where a variable is had, and of which branch, is said as one: a branch is of preview alone.
    changes: [['target', 'customEnvironmentIds', 'gitBranch']],
    to: (_, { params }) => listPath({ slug: params.slug! }, params.name!),
    again: showEdit,
  }),
]

async function showNew(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  return consolePage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: 'Add a variable',
      body: html`<div class="top"><h1>Add a variable</h1></div>
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${url}">
${csrfFields(ctx)}
${inputs(undefined, choices, refused)}
<p class="actions"><button>Add the variable</button><a class="button quiet" href="${listPath(account, project)}">Cancel</a></p>
</form>`,
    },
  )
}

async function showEdit(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const variable = await findListed(ctx, account, params)
  if (!canChangeVariable(account, variable))
    refuse('missing_permission', "Your role does not change production's variables.")
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  const path = `${listPath(account, project)}/${variable.id}`
  return consolePage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: variable.key,
      within: [],
      body: html`<div class="top"><h1><code>${variable.key}</code></h1><p class="ways">${canReadVariable(account, variable) && html`<a href="${path}">Reveal the value</a> `}<a href="${path}/history">History</a></p></div>
${formErrorNotice(refused)}
<form class="stack card" method="post" action="${url}">
${editFields(ctx, refused, (refused) => inputs(variable, choices, refused))}
<p class="actions"><button>Save</button><a class="button quiet" href="${listPath(account, project)}">Cancel</a></p>
</form>
${dangerCard(
  'Delete this variable',
  html`The next deployment goes without <code>${variable.key}</code>. Its values go at once, also from the history.`,
  confirmedButton(ctx, `${path}/delete`, 'Delete the variable', { label: `Delete the variable ${variable.key}` }),
)}`,
    },
  )
}

/** A variable as the list has it, so without its value: nothing is revealed, and no line of the audit log says so. Refuses: not_found 404. */
async function findListed(ctx: ConsoleCtx, account: OwnAccount, { name, id }: ScreenInput['params']): Promise<EnvVar> {
  const { envs } = await ctx.ask<{ envs: EnvVar[] }>('filterProjectEnvs', { account, params: { idOrName: name! } })
  return envs.find((one) => one.id === id) ?? refuse('not_found', 'The project has no such variable.')
}

function inputs(variable: EnvVar | undefined, choices: readonly Choice[], refused: Refused | undefined): Html {
  const chosen = variable === undefined ? [...TARGETS] : [...variable.target, ...variable.customEnvironmentIds]
  return html`${field('key', 'Key', { value: variable?.key, required: true, refused, attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false"` })}
${textAreaField('value', 'Value', { refused, ...(variable && { hint: 'Leave it empty to keep the value as it is.' }) })}
${environmentsField(choices, chosen, refused)}
${branchField('Only for preview: deployments of this branch get this value instead of the general one.', { value: variable?.gitBranch, refused })}
${select('type', 'Who may read it', typesFor(variable), { value: variable?.type ?? 'encrypted', refused, ...(variable?.type === 'sensitive' && { hint: 'A value that is write-only stays so.' }) })}
${field('comment', 'Comment', { value: variable?.comment, refused })}`
}

/** A write-only variable stays one; a type that only clients make is kept. */
function typesFor(variable: EnvVar | undefined): readonly Choice[] {
  if (variable?.type === 'sensitive') return READER_CHOICES.filter(([type]) => type === 'sensitive')
  if (variable === undefined || READER_CHOICES.some(([type]) => type === variable.type)) return READER_CHOICES
  return [[variable.type, `As it is (${variable.type})`], ...READER_CHOICES]
}
