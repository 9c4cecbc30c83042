/**
 * A `.env` text, pasted or dropped, with its plan before it is applied. The plan names keys and never values. The text goes on in the
 * field into which it was typed, and stands nowhere else.
 */

import type { Static } from 'typebox'
import type { Page } from '../../../platform/pages/frame.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { ImportAnswer } from '../../../projects/env-files/schema.ts'
import { READERS } from '../../../readers.ts'
import { action, formErrorNotice } from '../../action.ts'
import { type Choice, normalizeLineEnds, select, textAreaField, toStringList } from '../../fields.ts'
import { consolePage, findAccountOfPath } from '../../frame.ts'
import type { Refused } from '../../refused.ts'
import { readCustomEnvironments } from '../environments.ts'
import {
  branchField,
  environmentsField,
  listPath,
  READER_CHOICES,
  VARIABLES_PATH,
  writableChoices,
} from './environments.ts'

/** The text that the route takes is 1 MiB, of which a form makes up to three times as many bytes. */
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
})
type Form = Static<typeof EnvFile>
type Answer = Static<typeof ImportAnswer>

const MODES: readonly Choice[] = [
  ['merge', 'Add and change what the text names, and leave all else'],
  ['replace', 'Put the text in the place of all variables there'],
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
    asks: 'putProjectEnvFile',
    shows: ['getProjectCustomEnvironments'],
    wish: ({ params, form }) => importOf(params, form),
    to: (answer, input, ctx) =>
      answer.dryRun ? showPlan(ctx, input, answer) : listPath({ slug: input.params.slug! }, input.params.name!),
    again: showAgain,
  }),
]

/** What the route is asked. Only a plan that was shown is applied, and everything else is a plan. */
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

/** The form with what was typed. Where others changed variables after a plan was shown, the plan as it is now. */
async function showAgain(ctx: ConsoleCtx, input: ScreenInput, refused?: Refused): Promise<Page> {
  if (refused?.key !== 'env_plan_changed') return showImport(ctx, input, refused)
  const form = { ...(input.form as Form), step: 'plan' }
  const account = await findAccountOfPath(ctx, input.params)
  const answer = await ctx.ask<Answer>('putProjectEnvFile', { account, ...importOf(input.params, form) })
  return showPlan(ctx, { ...input, form }, answer, refused)
}

async function showImport(ctx: ConsoleCtx, { params, url }: ScreenInput, refused?: Refused) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  return consolePage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: 'Paste a .env file',
      body: html`<div class="top"><h1>Paste a .env file</h1></div>
${refused && (badLines(refused) ?? formErrorNotice(refused))}
<form class="stack card" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}
${inputs(choices, refused)}
<p class="actions"><button name="step" value="plan">Show the plan</button><a class="button quiet" href="${listPath(account, project)}">Cancel</a></p>
</form>
<p class="soft small">Or from a terminal: <code>berth env import ${project} .env --target production --dry-run</code></p>`,
    },
  )
}

function inputs(choices: readonly Choice[], refused: Refused | undefined): Html {
  return html`${textAreaField('text', 'The text', { required: true, refused, hint: 'KEY=value lines, as dotenv reads them. A file can be dropped here. Nothing is changed before you have seen the plan.', attributes: html` class="tall" data-drop` })}
${environmentsField(choices, ['development'], refused)}
${branchField('Only for preview: these values are for deployments of this branch.', { refused })}
${select('mode', 'What happens', MODES, { refused })}
${select('type', 'Who may read values that are new', READER_CHOICES, { refused })}`
}

/** Every line that was refused, by its number, where there are some. Values are not in it. */
function badLines({ extra }: Refused): Html | undefined {
  const lines = (extra as { lines?: { line: number; message: string }[] }).lines
  if (lines === undefined || lines.length === 0) return undefined
  return html`<div class="notice bad" role="alert" id="fault"><p>${lines.length === 1 ? 'One line was refused.' : `${lines.length} lines were refused.`} Nothing was changed.</p>
<ul>${lines.map(({ line, message }) => html`<li>Line ${line} ${message}</li>`)}</ul></div>`
}

async function showPlan(
  ctx: ConsoleCtx,
  { params, url, form }: ScreenInput<unknown, Form>,
  { plan, mode, planDigest }: Answer,
  refused?: Refused,
): Promise<Page> {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const choices = writableChoices(account, await readCustomEnvironments(ctx, account, project))
  const typed = { message: '', field: undefined, typed: form as Record<string, unknown>, extra: {} }
  const changes = plan.created.length + plan.updated.length + plan.removed.length
  return consolePage(
    ctx,
    { account, project, tab: 'variables' },
    {
      title: 'The plan',
      body: html`<div class="top"><h1>The plan</h1></div>
${formErrorNotice(refused)}
<p>${changes === 0 ? 'Nothing would change.' : html`Nothing is changed yet. This is what the text would do in ${where(form, choices)}.`}</p>
<div class="grid">
${keys('New', plan.created)}${keys('Changed', plan.updated)}${mode === 'replace' && keys('Removed', plan.removed)}${keys('The same as now', plan.unchanged)}${plan.skipped && keys('Skipped: the platform sets them', plan.skipped)}
</div>
<form class="stack card" method="post" action="${url}" data-turbo="false">
${csrfFields(ctx)}<input type="hidden" name="planDigest" value="${planDigest}">
<p class="actions">${changes > 0 && html`<button name="step" value="apply">Apply ${changes} ${changes === 1 ? 'change' : 'changes'}</button>`}<button class="quiet" name="step" value="plan">Show the plan again</button><a class="button quiet" href="${listPath(account, project)}">Cancel</a></p>
<details><summary>Change the text, or where it goes</summary>
${inputs(choices, typed)}
</details>
</form>`,
    },
  )
}

function where(form: Form, choices: readonly Choice[]): string {
  const words = choices.filter(([value]) => toStringList(form.target).includes(value)).map(([, label]) => label)
  const branch = form.gitBranch ? `, branch ${form.gitBranch}` : ''
  return `${words.join(', ')}${branch}`
}

function keys(title: string, names: readonly string[]): Html {
  return html`<section class="card"><h2>${title} <span class="soft">${names.length}</span></h2>
${names.length > 0 ? html`<ul class="plain">${names.map((one) => html`<li><code>${one}</code></li>`)}</ul>` : html`<p class="soft">none</p>`}</section>`
}
