import type { Static } from 'typebox'
import { note } from '../../../platform/pages/face/notes.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../../platform/pages/screen.ts'
import type { EnvHistory } from '../../../projects/env/history.ts'
import { action, formErrorNotice } from '../../action.ts'
import { sentenceCase } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import type { FormError } from '../../form-error.ts'
import { findAccountOfPath, projectPage } from '../../frame.ts'
import { readUserNames, USER_NAME_CALLS } from '../../names/users.ts'
import { relativeTime } from '../../time.ts'
import { readCustomEnvironments } from '../environments.ts'
import { canChangeVariable, environmentsLabel, listPath, VARIABLE_PATH } from './environments.ts'

const LIST = new Intl.ListFormat('en', { type: 'conjunction' })

type Version = Static<typeof EnvHistory>['history'][number]

const SHOWN = ['getProjectEnvHistory', 'getProjectCustomEnvironments', ...USER_NAME_CALLS]

export const variableHistoryScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: `${VARIABLE_PATH}/history`,
    name: 'showVariableHistory',
    calls: SHOWN,
    run: (ctx, input) => showHistory(ctx, input),
  }),
  action({
    path: `${VARIABLE_PATH}/history/:version/restore`,
    name: 'consoleRestoreVariable',
    calls: 'restoreProjectEnv',
    renderCalls: SHOWN,
    request: ({ params }) => ({ params: { idOrName: params.name!, id: params.id!, version: params.version! } }),
    next: (_, { params }) =>
      `${listPath({ slug: params.slug! }, params.name!)}/${encodeURIComponent(params.id!)}/history`,
    renderErrors: showHistory,
  }),
]

async function showHistory(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = params.name!
  const { history } = await ctx.callRoute<Static<typeof EnvHistory>>('getProjectEnvHistory', {
    account,
    params: { idOrName: project, id: params.id! },
  })
  const environments = await readCustomEnvironments(ctx, account, project)
  const people = history.filter(({ by }) => by.kind === 'user').map(({ by }) => by.id)
  const names = await readUserNames(ctx, account, people)
  const path = `${listPath(account, project)}/${encodeURIComponent(params.id!)}`
  const isThere = history[0]!.action !== 'deleted'
  const canWrite = canChangeVariable(account, history[0]!)
  return projectPage(ctx, account, project, 'variables', {
    title: `History of ${history[0]!.key}`,
    within: isThere && canWrite ? [[history[0]!.key, `${path}/edit`]] : [],
    body: html`<div class="head"><h1>History of <code>${history[0]!.key}</code></h1>${isThere && canWrite && html`<a class="btn" href="${path}/edit">Edit</a>`}</div>
${formErrorNotice(error)}
${!isThere && note('info', 'This variable was deleted with its values. The history is kept for 30 days.')}
${dataTable(
  'Versions',
  ['Version', 'When', 'Who', 'Change', 'Environments', 'Actions'],
  history.map(
    (entry) =>
      html`<tr><td>Version ${entry.version}${isThere && entry === history[0] && html` <span class="badge">Current</span>`}</td><td>${relativeTime(entry.at, ctx.now)}</td><td>${names.get(entry.by.id) ?? actor(entry)}</td>
<td>${what(entry)}</td><td>${environmentsLabel(entry, environments)}</td><td class="act">${entry.restorable && canWrite && canChangeVariable(account, entry) ? html`<form method="post" action="${path}/history/${entry.version}/restore">${csrfFields(ctx)}<button class="btn small" aria-label="Restore version ${entry.version}">Restore</button></form>` : entry !== history[0] && html`<span class="soft small">Cannot be restored</span>`}</td></tr>`,
  ),
)}
<p class="soft small">Values are stored encrypted and not shown here. The last 100 versions can be restored. Restoring creates a new version.</p>`,
  })
}

function actor({ by }: Version): Html {
  if (by.kind === 'user') return html`former member <code>${by.id}</code>`
  return html`${by.kind} <code>${by.id}</code>`
}

/** Such as `Changed environments and value`. */
function what({ action, changed }: Version): string {
  const fields = changed.map((name) => (name === 'target' ? 'environments' : name))
  const verb = action === 'updated' ? 'Changed' : sentenceCase(action)
  return action === 'updated' || action === 'restored' ? `${verb} ${LIST.format(fields)}` : verb
}
