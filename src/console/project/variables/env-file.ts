/** Imports a `.env` file with a plan before it is applied. Review changes contains keys, never values; the text is sent back only in its own field. */

import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import type { Page } from '../../../platform/pages/frame.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { Refusal } from '../../../platform/refusals/refusal.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { ImportAnswer } from '../../../projects/env-files/schema.ts'
import { READERS } from '../../../readers.ts'
import { action, formErrorNotice, formErrorOf } from '../../action.ts'
import { cardTitle, countOf } from '../../controls.ts'
import { type Choice, normalizeLineEnds, select, textAreaField, toStringList } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { findAccountOfPath, projectPage } from '../../frame.ts'
import { readCustomEnvironments } from '../environments.ts'
import {
  branchField,
  DEFAULT_ENVIRONMENTS,
  environmentsField,
  listPath,
  READER_CHOICES,
  VARIABLES_PATH,
  writableChoices,
} from './environments.ts'

/** The route accepts 1 MiB, which form encoding can triple. */
const FORM_BYTES = READERS['form of a text'].bytes
const Text = Type.Optional(Type.String())
const EnvFile = Type.Object({
  text: Text,
  target: Type.Optional(Type.Array(Type.String())),
  gitBranch: Text,
  mode: Text,
  type: Text,
  step: Text,
  planDigest: Text,
  /** Of the form of one variable, into which a block was pasted. */
  comment: Text,
})
type Form = Static<typeof EnvFile>
type Answer = Static<typeof ImportAnswer>

const MODES: readonly Choice[] = [
  ['merge', 'Merge: add and update these keys'],
  ['replace', 'Replace: delete all other keys'],
]
export const envFileScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${VARIABLES_PATH}/import`,
    name: 'showImport',
    calls: ['getProjectCustomEnvironments'],
    run: (ctx, input) => showImport(ctx, input),
  }),
  action<typeof EnvFile, Answer>({
    path: `${VARIABLES_PATH}/import`,
    name: 'consoleImportVariables',
    form: EnvFile,
    bodyLimit: FORM_BYTES,
    calls: 'putProjectEnvFile',
    renderCalls: ['getProjectCustomEnvironments'],
    request: ({ params, form }) => importOf(params, form),
    next: (answer, input, ctx) =>
      answer.dryRun ? showPlan(ctx, input, answer) : listPath({ slug: input.params.slug! }, input.params.name!),
    renderErrors: showAgain,
  }),
]

/** Applies only a plan that was shown; everything else is a dry run. */
function importOf(params: ScreenInput['params'], form: Form) {
  const planDigest = form.step === 'apply' ? form.planDigest || undefined : undefined
  return {
    params: { idOrName: params.name! },
    query: {
      mode: form.mode,
      type: form.type,
      target: toStringList(form.target).join(','),
      gitBranch: form.gitBranch || undefined,
      ...(planDigest === undefined ? { dryRun: 'true' } : { planDigest }),
    },
    body: normalizeLineEnds(form.text ?? ''),
  }
}

/** If variables changed after the plan was shown, shows the new plan. */
async function showAgain(ctx: ConsoleCtx, input: ScreenInput, error?: FormError): Promise<Page> {
  if (error?.key !== 'env_plan_changed') return showImport(ctx, input, error)
  const form = { ...(input.form as Form), step: 'plan' }
  const account = await findAccountOfPath(ctx, input.params)
  const answer = await ctx.callRoute<Answer>('putProjectEnvFile', { account, ...importOf(input.params, form) })
  return showPlan(ctx, { ...input, form }, answer, error)
}

/** Shows the plan of a block that was typed into the form of one variable, or the form of a block if it cannot be read. */
export async function planBlock(ctx: ConsoleCtx, { params, ...input }: ScreenInput, text: string): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const url = listPath(account, params.name!, 'import')
  const form: Form = { ...(input.form as Form), text, mode: 'merge', step: 'plan' }
  const pasted = { ...input, params, url, form }
  try {
    const answer = await ctx.callRoute<Answer>('putProjectEnvFile', { account, ...importOf(params, form) })
    return await showPlan(ctx, pasted, answer)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return showImport(ctx, pasted, formErrorOf(error, form))
  }
}

async function showImport(ctx: ConsoleCtx, { params, url }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  return projectPage(ctx, account, project, 'variables', {
    title: 'Paste a .env file',
    body: html`<div class="head"><h1>Paste a .env file</h1></div>
${error && (badLines(error) ?? formErrorNotice(error))}
${commentNote(error?.typed as Form | undefined)}
<form class="card in stack form" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${inputs(choices, error)}
<p class="line"><button class="btn primary" name="step" value="plan">Review changes</button><a class="btn" href="${listPath(account, project)}">Cancel</a></p>
</form>
<p class="soft small">From a terminal: <code>berth env import ${project} .env --target production --dry-run</code></p>`,
  })
}

function inputs(choices: readonly Choice[], error: FormError | undefined): Html {
  const { comment } = (error?.typed ?? {}) as Form
  return html`${comment && html`<input type="hidden" name="comment" value="${comment}">`}${textAreaField('text', '.env contents', { required: true, error, hint: 'KEY=value lines in dotenv format. You can drop a file here. You review the changes before they are applied.', attributes: html` class="tall" data-drop` })}
${environmentsField(choices, DEFAULT_ENVIRONMENTS, error)}
${branchField('Preview only. Overrides the general values for this branch.', { error })}
${select('mode', 'Mode', MODES, { error })}
${select('type', 'Visibility of new variables', READER_CHOICES, { error })}`
}

/** Invalid lines by number, without values. */
function badLines({ extra }: FormError): Html | undefined {
  const lines = (extra as { lines?: { line: number; message: string }[] }).lines
  if (lines === undefined || lines.length === 0) return undefined
  return html`${note(
    'bad',
    html`<p>${lines.length === 1 ? 'One line is invalid.' : `${lines.length} lines are invalid.`} Nothing was changed.</p>
<ul>${lines.map(({ line, message }) => html`<li>Line ${line} ${message}</li>`)}</ul>`,
    { role: 'alert', id: 'fault' },
  )}`
}

async function showPlan(
  ctx: ConsoleCtx,
  { params, url, form }: ScreenInput<unknown, Form>,
  { plan, mode, planDigest }: Answer,
  error?: FormError,
): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  const typed = { message: '', field: undefined, typed: form as Record<string, unknown>, extra: {} }
  const changes = plan.created.length + plan.updated.length + plan.removed.length
  return projectPage(ctx, account, project, 'variables', {
    title: 'Review changes',
    body: html`<div class="head"><h1>Review changes</h1></div>
${formErrorNotice(error)}
${commentNote(form)}
<p>${changes === 0 ? 'No changes.' : html`Changes in ${where(form, choices)}. Nothing is applied yet.`}</p>
<div class="grid">
${keys('New', plan.created)}${keys('Changed', plan.updated)}${mode === 'replace' && keys('Removed', plan.removed)}${keys('Unchanged', plan.unchanged)}${plan.skipped && keys('Skipped (set by the platform)', plan.skipped)}
</div>
<form class="card in stack form" method="post" action="${url}" data-turbo="false">${cardTitle('Apply', 'Deployments that exist keep what they have.')}
${csrfFields(ctx)}<input type="hidden" name="planDigest" value="${planDigest}">
<p class="line">${changes > 0 && applyButton(changes, plan.removed.length)}<button class="btn" name="step" value="plan">Refresh</button><a class="btn" href="${listPath(account, project)}">Cancel</a></p>
<details><summary>Edit</summary>
${inputs(choices, typed)}
</details>
</form>`,
  })
}

/** A block has no comments: the comment that was typed is shown again, and stays in the form. */
function commentNote(form: Form | undefined): Html | undefined {
  const comment = form?.comment?.trim()
  return comment
    ? note(
        'warn',
        html`<p>A block has no comment, so yours is not saved: “${comment}”. Add it to a variable afterwards.</p>`,
      )
    : undefined
}

/** Red where keys are deleted, which it counts. */
function applyButton(changes: number, removed: number): Html {
  const others = changes - removed
  const applied = [
    removed > 0 && `Delete ${removed}`,
    others > 0 && `${removed > 0 ? 'apply' : 'Apply'} ${countOf(others, 'change')}`,
  ]
  return html`<button class="btn ${removed > 0 ? 'danger' : 'primary'}" name="step" value="apply">${applied.filter(Boolean).join(', ')}</button>`
}

function where(form: Form, choices: readonly Choice[]): string {
  const words = choices.filter(([value]) => toStringList(form.target).includes(value)).map(([, label]) => label)
  const branch = form.gitBranch ? `, branch ${form.gitBranch}` : ''
  return `${words.join(', ')}${branch}`
}

function keys(title: string, names: readonly string[]): Html {
  return html`<section class="card in stack"><h2>${title} <span class="soft">${names.length}</span></h2>
${names.length > 0 ? html`<ul class="plain">${names.map((name) => html`<li><code>${name}</code></li>`)}</ul>` : html`<p class="soft">None</p>`}</section>`
}
