import type { Static } from 'typebox'
import { stampToMs } from '../../platform/base/clock.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { type Glyph, glyph, type Mood } from '../../platform/pages/face/states.ts'
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
import type { DomainList } from '../../projects/domains/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { action, formErrorNotice } from '../action.ts'
import { actionMenu, button } from '../controls.ts'
import { copyable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { canInAccount, deploymentPath, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { readUserNames, USER_NAME_CALLS } from '../names/users.ts'
import { relativeTime } from '../time.ts'
import { titleOf } from './commit.ts'
import { mooring } from './confirm.ts'
import { siteAddress } from './deployment/details.ts'
import { firstDeployment } from './deployment/first.ts'
import { readRequester } from './deployment/requester.ts'
import { deploymentRows, isPassedOver, rowOf } from './deployment/rows.ts'
import { readUsage, visitorsFact } from './deployment/visitors.ts'
import { domainPath } from './domains.ts'
import { cronJobs } from './functions/cron-jobs.ts'
import { isInTransfer, projectStateLabel } from './list.ts'
import {
  failedOf,
  failedSentence,
  type LatestDeployment,
  latestTitle,
  readLatestDeployments,
} from './newest-deployments.ts'

const PROJECT = '/console/t/:slug/projects/:name'
const SHOWN = ['getProject', 'getProjectDomains', 'listProjectCrons', 'getDeploymentUsage', ...USER_NAME_CALLS]
const CronSwitch = Type.Object({ enabled: Type.Optional(Type.String()) })
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
  action({
    path: `${PROJECT}/automatic-promotion`,
    name: 'consoleResumePromotion',
    calls: 'updateProject',
    renderCalls: SHOWN,
    request: ({ params }) => ({ params: { idOrName: params.name! }, body: { autoAssignCustomDomains: true } }),
    next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!),
    renderErrors: showProject,
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
  action<typeof CronSwitch>({
    path: `${PROJECT}/crons`,
    name: 'console-switch-crons',
    form: CronSwitch,
    calls: 'updateProjectCrons',
    renderCalls: SHOWN,
    request: ({ params, form }) => ({ params: { idOrName: params.name! }, body: { enabled: form.enabled === 'true' } }),
    next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!),
    renderErrors: showProject,
  }),
]

async function showProject(ctx: ConsoleCtx, { params }: ScreenInput, error?: FormError) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const live = project.targets.production
  const visitors = live && (await readUsage(ctx, account, live.id)).visitors
  const newest = (await readLatestDeployments(ctx, [project])).get(project.id) ?? []
  return projectPage(ctx, account, project.name, '', {
    title: 'Overview',
    body: html`<div class="head"><div class="grow"><h1>${project.name}</h1><div class="sub line tight small">${projectStateLabel(project, failedOf(newest))}</div></div>
<div class="line">${projectActions(ctx, account, project)}</div></div>
${formErrorNotice(error)}
${attention(await whatNeedsAttention(ctx, account, project, newest))}
<section class="card in stack"><h2>Production</h2>
${production(ctx, account, project)}
<dl class="facts">
${visitors && html`<dt>Last 24 hours</dt><dd>${visitorsFact(visitors)}</dd>`}
<dt>Framework</dt><dd>${project.framework ?? 'None'}</dd>
<dt>Project ID</dt><dd>${copyable(project.id, 'id')}</dd>
<dt>Created</dt><dd>${relativeTime(project.createdAt, ctx.now)}</dd>
${project.transferredFromAccountId !== undefined && html`<dt>Transferred</dt><dd>from another account, ${relativeTime(project.transferCompletedAt ?? project.updatedAt, ctx.now)}</dd>`}
</dl></section>
${project.latestDeployments.length === 0 ? firstDeployment(ctx, account, project) : latestRows(ctx, account, project)}
${await cronJobs(ctx, account, project)}`,
  })
}

/** A sentence that asks for something, with the shape and color of its state. */
type Problem = readonly [mood: Mood, shape: Glyph, sentence: Html]

/** Open problems, the worst first. */
async function whatNeedsAttention(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  newest: readonly LatestDeployment[],
): Promise<Problem[]> {
  const { domains } = await ctx.callRoute<Static<typeof DomainList>>('getProjectDomains', {
    account,
    params: { idOrName: project.id },
    query: { verified: 'false', limit: String(MAX_DOMAINS) },
  })
  const last = newest.find(({ target }) => target === 'production')
  const isWaiting = last?.ready_state === 'READY' && last.id !== project.targets.production?.id
  const staged = isWaiting && !isPassedOver(project, stampToMs(last.created_stamp))
  const isHeld = isRolledBack(project)
  const problems: (Problem | false | undefined)[] = [
    project.paused && ['warn', 'paused', await paused(ctx, account, project)],
    isInTransfer(project) && [
      'busy',
      'building',
      html`This project is being transferred to another account. The transfer started ${relativeTime(project.transferStartedAt!, ctx.now)}. Most changes are blocked until it completes.`,
    ],
    ...failedOf(newest).map(
      (deployment): Problem => ['bad', 'failed', failedSentence(account, project.name, deployment)],
    ),
    isHeld && !project.paused && ['warn', 'waiting', await held(ctx, account, project, staged ? last : undefined)],
    staged &&
      !project.paused &&
      !isHeld && [
        'warn',
        'waiting',
        html`The newest production deployment is not live: <a href="${deploymentPath(account, project.name, last.id)}">${latestTitle(last)}</a>. Promote it to put it live.`,
      ],
    project.lastAliasRequest?.jobStatus === 'failed' && [
      'bad',
      'failed',
      html`Some domains could not be assigned by <a href="${projectPath(account, project.name, 'deployments/progress')}">the latest ${project.lastAliasRequest.type}</a>.`,
    ],
    ...domains.map(
      ({ name }): Problem => [
        'warn',
        'pending',
        html`<a href="${domainPath(account, project.name, name)}">${name}</a> is not verified and serves nothing yet.`,
      ],
    ),
  ]
  return problems.filter((problem) => problem !== undefined && problem !== false)
}

/** After a rollback, new deployments wait for a promote. */
function isRolledBack({ lastAliasRequest, autoAssignCustomDomains }: Project): boolean {
  return lastAliasRequest?.type === 'rollback' && autoAssignCustomDomains === false
}

async function held(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  waiting: LatestDeployment | undefined,
): Promise<Html> {
  const { name, lastAliasRequest, targets, latestDeployments } = project
  const { toDeploymentId, fromDeploymentId, requestedAt } = lastAliasRequest!
  const to = [targets.production, ...latestDeployments].find((deployment) => deployment?.id === toDeploymentId)
  const moves = canMove(account, project)
  const from = moves && latestDeployments.find(({ id }) => id === fromDeploymentId)
  const by = await readRequester(ctx, account, project)
  return html`Rolled back ${relativeTime(requestedAt, ctx.now)}${by && ` by ${by}`} to <a href="${deploymentPath(account, name, toDeploymentId)}">${to ? titleOf(to) : 'an earlier deployment'}</a>. New deployments will not go live until you promote one, or turn on automatic promotion in <a href="${projectPath(account, name, 'settings')}">Settings</a>.${
    waiting && html` <a href="${deploymentPath(account, name, waiting.id)}">${latestTitle(waiting)}</a> is waiting.`
  }${from && html` <a href="${deploymentPath(account, name, from.id, 'promote')}">Undo the rollback…</a>`}${moves && button(ctx, projectPath(account, name, 'automatic-promotion'), 'Resume automatic promotion')}`
}

async function paused(ctx: ConsoleCtx, account: OwnAccount, { pausedAt, pausedBy }: Project): Promise<Html> {
  const names = pausedBy === undefined ? undefined : await readUserNames(ctx, account, [pausedBy])
  const name = pausedBy && (names?.get(pausedBy) ?? pausedBy)
  const by = name === 'you' ? 'You paused this project' : html`This project was paused${name && html` by ${name}`}`
  return html`${by}${pausedAt !== undefined && html` ${relativeTime(pausedAt, ctx.now)}`}. Visitors see a "paused" page.`
}

function attention(problems: readonly Problem[]): Html | undefined {
  if (problems.length === 0) return undefined
  return html`<section class="card"><header><h2>Needs attention</h2><span class="count">${problems.length}</span></header><ul class="rows problems">${problems.map(([mood, shape, sentence]) => html`<li class="row one">${glyph(mood, shape)}<div class="grow">${sentence}</div></li>`)}</ul></section>`
}

/** Whether the user can put another deployment live. */
function canMove(account: OwnAccount, project: Project): boolean {
  return canInAccount(account, 'project:write', 'deployment:write') && !project.paused && !isInTransfer(project)
}

/** Actions on production. A rollback goes to the deployment that was live before, where it is among the latest. */
function projectActions(ctx: ConsoleCtx, account: OwnAccount, project: Project): Html {
  const { name, targets, latestDeployments } = project
  const live = targets.production
  const before = latestDeployments.find(
    ({ readySubstate, target, createdAt }) =>
      target === 'production' && readySubstate === 'PROMOTED' && live && createdAt < live.createdAt,
  )
  const host = live?.alias[0] ?? live?.url
  const rollsBack = before && canMove(account, project)
  return html`${rollsBack && html`<a class="btn" href="${deploymentPath(account, name, before.id, 'rollback')}">${icon('undo-2')}Roll back…</a>`}${host && html`<a class="btn${!project.paused && ' primary'}" href="${siteAddress(ctx, host)}" rel="noreferrer">Visit${icon('arrow-up-right')}</a>`}${
    canInAccount(account, 'project:write') && pauseForm(ctx, account, project)
  }`
}

function pauseForm(ctx: ConsoleCtx, account: OwnAccount, { id, name, paused }: Project): Html {
  if (!paused)
    return actionMenu(id, name, html`<a href="${projectPath(account, name, 'pause')}">${icon('pause')}Pause…</a>`)
  return html`<form method="post" action="${projectPath(account, name, 'unpause')}">${csrfFields(ctx)}
<button class="btn primary">${icon('play')}Resume</button></form>`
}

/** Renders the deployment that serves production, with its addresses on their lines. */
function production(ctx: ConsoleCtx, account: OwnAccount, { name, paused, targets }: Project): Html {
  const live = targets.production
  if (live === undefined) return html`<p class="soft">Not deployed yet.</p>`
  const hosts = [...new Set([...live.alias, live.url])]
  return html`<div>${mooring(live, paused ? 'Paused' : 'Live now', ctx.now, { isLive: !paused, to: deploymentPath(account, name, live.id) })}
<ul class="lines${paused && ' loose'}">${hosts.map((host) => html`<li><a class="any" href="${siteAddress(ctx, host)}" rel="noreferrer">${host}</a></li>`)}</ul></div>`
}

function latestRows(ctx: ConsoleCtx, account: OwnAccount, project: Project): Html {
  const { name, latestDeployments } = project
  return html`<div class="head"><h2>Latest deployments</h2><a class="btn quiet small" href="${projectPath(account, name, 'deployments')}">All deployments${icon('arrow-right')}</a></div>
${deploymentRows(ctx, account, project, latestDeployments.map(rowOf))}`
}
