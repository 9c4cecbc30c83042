import type { Static } from 'typebox'
import { stampToMs } from '../../platform/base/clock.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  csrfFields,
  type Screen,
  type ScreenInput,
} from '../../platform/pages/screen.ts'
import type { DomainList } from '../../projects/domains/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { action, formErrorNotice } from '../action.ts'
import { sentenceCase } from '../controls.ts'
import { copyable, dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { canInAccount, consolePage, deploymentPath, findAccountOfPath, projectPath } from '../frame.ts'
import { readUserNames, USER_NAME_CALLS } from '../names/users.ts'
import { relativeTime } from '../time.ts'
import { siteAddress } from './deployment/details.ts'
import { firstDeployment } from './deployment/first.ts'
import { stateOf } from './deployments.ts'
import { domainPath } from './domains.ts'
import { cronJobs } from './functions/cron-jobs.ts'
import { isInTransfer, projectStateLabel } from './list.ts'
import { failedOf, failedSentence, type LatestDeployment, readLatestDeployments } from './newest-deployments.ts'

const PROJECT = '/console/t/:slug/projects/:name'
const SHOWN = ['getProject', 'getProjectDomains', 'listProjectCrons', ...USER_NAME_CALLS]
/** Unverified domains shown. */
const MAX_DOMAINS = 5

export const projectScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PROJECT,
    name: 'showProject',
    calls: SHOWN,
    run: (ctx, input) => showProject(ctx, input),
  }),
  ...(['pause', 'unpause'] as const).map((verb) =>
    action({
      path: `${PROJECT}/${verb}`,
      name: `console-${verb}-project`,
      calls: `${verb}Project`,
      renderCalls: SHOWN,
      request: ({ params }) => ({ params: { projectId: params.name! } }),
      next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!),
      renderErrors: showProject,
    }),
  ),
]

async function showProject(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const newest = (await readLatestDeployments(ctx, [project])).get(project.id) ?? []
  return consolePage(
    ctx,
    { account, project: project.name, tab: '' },
    {
      title: 'Overview',
      body: html`<div class="head"><h1>${project.name}</h1>${canInAccount(account, 'project:write') && pauseForm(ctx, account, project)}</div>
${formErrorNotice(error)}
${attention(await whatNeedsAttention(ctx, account, project, newest))}
<section class="card in stack"><h2>Production</h2>
<dl class="facts">
<dt>State</dt><dd>${projectStateLabel(project, failedOf(newest))}</dd>
<dt>Deployment</dt><dd>${production(ctx, account, project)}</dd>
<dt>Framework</dt><dd>${project.framework ?? 'None'}</dd>
<dt>Project ID</dt><dd>${copyable(project.id, 'id')}</dd>
<dt>Created</dt><dd>${relativeTime(project.createdAt, ctx.now)}</dd>
${project.transferredFromAccountId !== undefined && html`<dt>Transferred</dt><dd>from another account, ${relativeTime(project.transferCompletedAt ?? project.updatedAt, ctx.now)}</dd>`}
</dl></section>
${project.latestDeployments.length === 0 ? firstDeployment(ctx, account, project) : latest(account, project, ctx.now)}
${await cronJobs(ctx, account, project)}`,
    },
  )
}

/** Open problems, the worst first. */
async function whatNeedsAttention(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  newest: readonly LatestDeployment[],
): Promise<Html[]> {
  const { domains } = await ctx.callRoute<Static<typeof DomainList>>('getProjectDomains', {
    account,
    params: { idOrName: project.id },
    query: { verified: 'false', limit: String(MAX_DOMAINS) },
  })
  const last = newest.find(({ target }) => target === 'production')
  const isWaiting = last?.ready_state === 'READY' && last.id !== project.targets.production?.id
  const staged = isWaiting && !wasLeft(project, last)
  const isHeld = isRolledBack(project)
  return [
    ...(project.paused ? [await paused(ctx, account, project)] : []),
    ...(isInTransfer(project)
      ? [
          html`This project is being transferred to another account. The transfer started ${relativeTime(project.transferStartedAt!, ctx.now)}. Most changes are blocked until it completes.`,
        ]
      : []),
    ...failedOf(newest).map((one) => failedSentence(account, project.name, one)),
    ...(isHeld && !project.paused ? [held(account, project, ctx.now)] : []),
    ...(staged && !project.paused && !isHeld
      ? [
          html`The newest production deployment is not live: <a href="${deploymentPath(account, project.name, last.id)}">${last.url}</a>. Promote it to put it live.`,
        ]
      : []),
    ...(project.lastAliasRequest?.jobStatus === 'failed'
      ? [
          html`Some domains could not be assigned by <a href="${projectPath(account, project.name, 'deployments/progress')}">the latest ${project.lastAliasRequest.type}</a>.`,
        ]
      : []),
    ...domains.map(
      ({ name }) =>
        html`<a href="${domainPath(account, project.name, name)}">${name}</a> is not verified and serves nothing yet.`,
    ),
  ]
}

/** After a rollback, new deployments wait for a promote. */
function isRolledBack({ lastAliasRequest, autoAssignCustomDomains }: Project): boolean {
  return lastAliasRequest?.type === 'rollback' && autoAssignCustomDomains === false
}

/** Whether a rollback went past this deployment: it is not to be promoted again. */
function wasLeft({ lastAliasRequest }: Project, { created_stamp }: LatestDeployment): boolean {
  return lastAliasRequest?.type === 'rollback' && stampToMs(created_stamp) <= lastAliasRequest.requestedAt
}

function held(account: OwnAccount, { name, lastAliasRequest }: Project, now: number): Html {
  const { toDeploymentId, requestedAt } = lastAliasRequest!
  return html`Rolled back ${relativeTime(requestedAt, now)} to <a href="${deploymentPath(account, name, toDeploymentId)}">an earlier deployment</a>. New deployments will not go live until you promote one, or turn on automatic promotion in <a href="${projectPath(account, name, 'settings')}">Settings</a>.`
}

async function paused(ctx: ConsoleCtx, account: OwnAccount, { pausedAt, pausedBy }: Project): Promise<Html> {
  const names = pausedBy === undefined ? undefined : await readUserNames(ctx, account, [pausedBy])
  const name = pausedBy && (names?.get(pausedBy) ?? pausedBy)
  const by = name === 'you' ? 'You paused this project' : html`This project was paused${name && html` by ${name}`}`
  return html`${by}${pausedAt !== undefined && html` ${relativeTime(pausedAt, ctx.now)}`}. Visitors see a "paused" page.`
}

function attention(sentences: readonly Html[]): Html | undefined {
  if (sentences.length === 0) return undefined
  return html`<section class="card"><header><h2>Needs attention</h2><span class="count">${sentences.length}</span></header><ul class="rows">${sentences.map((sentence) => html`<li>${sentence}</li>`)}</ul></section>`
}

function pauseForm(ctx: ConsoleCtx, account: OwnAccount, { name, paused }: Project): Html {
  if (!paused) return html`<a class="btn" href="${projectPath(account, name, 'pause')}">${icon('pause')}Pause…</a>`
  return html`<form method="post" action="${projectPath(account, name, 'unpause')}">${csrfFields(ctx)}
<button class="btn primary">${icon('play')}Resume</button></form>`
}

function production(ctx: ConsoleCtx, account: OwnAccount, { name, targets }: Project): Html {
  const live = targets?.production
  if (live === undefined || live === null) return html`Not deployed yet.`
  const names = [...new Set([...live.alias, live.url])]
  return html`${names.map((host) => html`<a href="${siteAddress(ctx, host)}" rel="noreferrer">${host}</a> `)}<br>
<span class="soft">Deployment <a href="${deploymentPath(account, name, live.id)}"><code>${live.id}</code></a>, created ${relativeTime(live.createdAt, ctx.now)}</span>`
}

function latest(account: OwnAccount, { name, latestDeployments }: Project, now: number): Html {
  return html`<div class="head"><h2>Latest deployments</h2><a href="${projectPath(account, name, 'deployments')}">All deployments</a></div>
${dataTable(
  'Latest deployments',
  ['URL', 'State', 'Target', 'Created'],
  latestDeployments.map(
    (latestDeployment) =>
      html`<tr><td><a href="${deploymentPath(account, name, latestDeployment.id)}">${latestDeployment.url}</a></td><td>${stateOf(latestDeployment.readyState)}</td>
<td>${sentenceCase(latestDeployment.target ?? 'preview')}</td><td>${relativeTime(latestDeployment.createdAt, now)}</td></tr>`,
  ),
)}`
}
