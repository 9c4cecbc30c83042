import type { Static } from 'typebox'
import { type Mood, state } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { Deployment } from '../../projects/deployments/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import type { PromoteAliases } from '../../projects/promotion/schema.ts'
import { action } from '../action.ts'
import { sentenceCase } from '../controls.ts'
import { dataTable } from '../fields.ts'
import { deploymentPath, findAccountOfPath, projectPage, projectPath, unlessGone } from '../frame.ts'
import { USER_NAME_CALLS } from '../names/users.ts'
import { relativeTime } from '../time.ts'
import { mooring } from './confirm.ts'
import { DEPLOYMENT_READ, mustBeOfProject } from './deployment/of-project.ts'
import { readRequester } from './deployment/requester.ts'
import { movesOf, rowOf } from './deployment/rows.ts'
import { DEPLOYMENT_SHOWN, DEPLOYMENTS_PATH, deploymentPage } from './deployments.ts'

/** Without script, the page reloads while a request is in progress. */
const RELOAD_SECONDS = 2
const MAX_SHOWN = 100
/** Without a target a redeploy is a preview. The page before says it (confirm.ts). */
const Redeployment = Type.Object({ target: Type.Optional(Type.String()) })

export const promotionScreens: readonly Screen[] = [
  ...(
    [
      ['promote', 'requestPromote'],
      ['rollback', 'requestRollback'],
    ] as const
  ).map(([verb, asks]) =>
    action({
      path: `${DEPLOYMENTS_PATH}/:id/${verb}`,
      name: `console-${verb}`,
      calls: asks,
      renderCalls: DEPLOYMENT_SHOWN,
      request: ({ params }) => ({ params: { projectId: params.name!, deploymentId: params.id! } }),
      next: (_, { params }) => projectPath({ slug: params.slug! }, params.name!, 'deployments/progress'),
      renderErrors: deploymentPage,
    }),
  ),
  action({
    path: `${DEPLOYMENTS_PATH}/:id/cancel`,
    name: 'console-cancel-deployment',
    calls: 'cancelDeployment',
    renderCalls: DEPLOYMENT_SHOWN,
    before: mustBeOfProject,
    request: ({ params }) => ({ params: { id: params.id! } }),
    next: (_, { params }) => deploymentPath({ slug: params.slug! }, params.name!, params.id!),
    renderErrors: deploymentPage,
  }),
  action<typeof Redeployment, { id: string }>({
    path: `${DEPLOYMENTS_PATH}/:id/redeploy`,
    name: 'console-redeploy',
    form: Redeployment,
    calls: 'createDeployment',
    renderCalls: DEPLOYMENT_SHOWN,
    before: mustBeOfProject,
    request: ({ params, form: { target } }) => ({
      query: { forceNew: '1' },
      body: { deploymentId: params.id!, ...(target && { target }), meta: { action: 'redeploy' } },
    }),
    next: ({ id }, { params }) => deploymentPath({ slug: params.slug! }, params.name!, id),
    renderErrors: deploymentPage,
  }),
  consoleScreen({
    method: 'GET',
    path: `${DEPLOYMENTS_PATH}/progress`,
    name: 'showPromotion',
    calls: [...DEPLOYMENT_READ, 'listPromoteAliases', 'listRollbackAliases', ...USER_NAME_CALLS],
    run: showPromotion,
  }),
]

type Request = NonNullable<Project['lastAliasRequest']>

/** TABLE Request states: message and color. */
const LABELS: Record<Request['jobStatus'], readonly [words: string, mood: Mood]> = {
  pending: ['The request is queued.', 'busy'],
  'in-progress': ['Domains are being assigned.', 'busy'],
  succeeded: ['All domains have moved.', 'good'],
  failed: ['Some domains could not be assigned. They are not verified or no longer serve production.', 'bad'],
  skipped: ['Replaced by a later deployment or request.', 'idle'],
}

async function showPromotion(ctx: ConsoleCtx, { params }: ScreenInput) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const request = project.lastAliasRequest
  if (!request)
    return projectPage(ctx, account, project.name, 'deployments', {
      title: 'Promote',
      body: html`<h1>Promote and roll back</h1><p class="card empty">No promotions or rollbacks yet.</p>`,
    })
  const isFailed = request.jobStatus === 'failed'
  const { aliases = [], pagination } = await ctx.callRoute<Static<typeof PromoteAliases>>(
    request.type === 'promote' ? 'listPromoteAliases' : 'listRollbackAliases',
    {
      account,
      params: { projectId: project.id },
      query: { limit: String(MAX_SHOWN), failedOnly: isFailed ? 'true' : undefined },
    },
  )
  const isLonger = pagination != null && pagination.next !== null
  const isRunning = request.jobStatus === 'pending' || request.jobStatus === 'in-progress'
  const by = await readRequester(ctx, account, project)
  const [words, mood] = LABELS[request.jobStatus]
  return projectPage(ctx, account, project.name, 'deployments', {
    title: request.type === 'promote' ? 'Promote' : 'Roll back',
    reload: isRunning ? RELOAD_SECONDS : undefined,
    body: html`<div class="head"><h1>${request.type === 'promote' ? 'Promote' : 'Roll back'}</h1></div>
<section class="card in stack" aria-live="polite"><p>${state(mood, sentenceCase(request.jobStatus))}</p><p>${words}</p>
<div class="berths">${request.fromDeploymentId !== '' && html`<div>${await moved(ctx, account, project, request.fromDeploymentId, 'From')}</div>`}
<div>${await moved(ctx, account, project, request.toDeploymentId, 'To')}</div></div>
<dl class="facts"><dt>Requested</dt><dd>${relativeTime(request.requestedAt, ctx.now)}${by && ` by ${by}`}</dd></dl>
${request.fromDeploymentId === request.toDeploymentId && html`<p class="soft small">This deployment was live already. Nothing changed for visitors.</p>`}
${request.type === 'rollback' && html`<p class="soft small">New deployments will not go live until you promote one.</p>`}
${request.type === 'rollback' && !isRunning && undo(account, project, request)}
${isRunning && html`<p><a href="${projectPath(account, project.name, 'deployments/progress')}">Refresh</a></p>`}</section>
${
  aliases.length > 0 &&
  html`${(isFailed || isLonger) && html`<p class="soft small">${isFailed && 'The domains that could not be assigned.'}${isLonger && ` The newest ${MAX_SHOWN}.`}</p>`}
${dataTable('Domains', ['Domain', 'State'], aliases.map(row))}`
}
<p class="line"><a class="btn" href="${projectPath(account, project.name)}">Overview</a><a href="${projectPath(account, project.name, 'deployments')}">All deployments</a></p>`,
  })
}

/** Links to the question that puts the deployment of before live again, where it is among the latest. */
function undo(account: OwnAccount, project: Project, { fromDeploymentId: id }: Request): Html | undefined {
  const from = project.latestDeployments.find((deployment) => deployment.id === id)
  if (from === undefined || !movesOf(account, project, rowOf(from)).includes('promote')) return undefined
  return html`<p><a class="btn" href="${deploymentPath(account, project.name, id, 'promote')}">Undo the rollback…</a></p>`
}

/** Renders one side of a request by its commit; by its id, where the deployment is removed. */
async function moved(ctx: ConsoleCtx, account: OwnAccount, project: Project, id: string, side: 'From' | 'To') {
  const deployment = await unlessGone(ctx.callRoute<Deployment>('getDeployment', { account, params: { idOrUrl: id } }))
  if (deployment === undefined) return html`<span class="small soft">${side}, removed</span> <code>${id}</code>`
  const isLive = project.targets.production?.id === id
  return mooring(deployment, isLive ? `${side}, live now` : side, ctx.now, {
    isLive,
    to: deploymentPath(account, project.name, id),
  })
}

function row({ alias, status }: NonNullable<PromoteAliases['aliases']>[number]): Html {
  const name = typeof alias === 'string' ? alias : alias.alias
  const mood = status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'busy'
  return html`<tr><td>${name}</td><td>${state(mood, sentenceCase(status))}</td></tr>`
}
