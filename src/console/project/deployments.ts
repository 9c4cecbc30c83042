import type { Static } from 'typebox'
import { READY_STATES } from '../../platform/db/deployment-tables.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { DeploymentAliases } from '../../projects/aliases/schema.ts'
import type { Deployment, DeploymentList } from '../../projects/deployments/schema.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { formErrorNotice } from '../action.ts'
import { filterForm } from '../controls.ts'
import { type Choice, dataTable, select } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { canInAccount, deploymentPath, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import { buildActions, failureNotice, isRunning, RELOAD_SECONDS, readBuildLog, readBuildTimes } from './build-log.ts'
import { commitAuthor, commitRefs, titleOf } from './commit.ts'
import { aliasesCard } from './deployment/aliases.ts'
import { detailsCard, siteAddress, visitorsOf } from './deployment/details.ts'
import { firstDeployment } from './deployment/first.ts'
import { DEPLOYMENT_READ, readDeployment } from './deployment/of-project.ts'
import { buildDuration, deploymentRows, deploymentState, STATE_LOOKS } from './deployment/rows.ts'
import { functionLog, LogFilters } from './functions/function-log.ts'
import { isInTransfer } from './list.ts'

export const DEPLOYMENTS_PATH = '/console/t/:slug/projects/:name/deployments'
const PAGE = 30
const Text = Type.Optional(Type.String({ maxLength: 256 }))
const Filters = Type.Object({ state: Text, target: Text, branch: Text, until: Text })
type Filters = Static<typeof Filters>

/** Routes that the page of a deployment calls. */
export const DEPLOYMENT_SHOWN = [
  ...DEPLOYMENT_READ,
  'listDeploymentAliases',
  'getDeploymentUsage',
  'getDeploymentEvents',
  'listDeploymentBuilds',
  'listRequestLogs',
]

const TARGETS: readonly Choice[] = [
  ['', 'Any environment'],
  ['production', 'Production'],
  ['preview', 'Preview'],
]

export const deploymentScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: DEPLOYMENTS_PATH,
    name: 'showDeployments',
    query: Filters,
    calls: ['getProject', 'getDeployments'],
    run: showDeployments,
  }),
  consoleScreen({
    method: 'GET',
    path: `${DEPLOYMENTS_PATH}/:id`,
    name: 'showDeployment',
    query: LogFilters,
    calls: DEPLOYMENT_SHOWN,
    run: (ctx, input) => deploymentPage(ctx, input, undefined, input.query),
  }),
]

async function showDeployments(ctx: ConsoleCtx, { params, query }: ScreenInput<Filters>) {
  const account = await findAccountOfPath(ctx, params)
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name! } })
  const { state: readyState, target, branch, until } = query
  const { deployments, pagination } = await ctx.callRoute<Static<typeof DeploymentList>>('getDeployments', {
    account,
    query: {
      projectId: project.id,
      limit: String(PAGE),
      state: readyState || undefined,
      target: target || undefined,
      branch: branch || undefined,
      until,
    },
  })
  const path = projectPath(account, project.name, 'deployments')
  const isNarrowed = [readyState, target, branch, until].some(Boolean)
  const kept = { ...(readyState && { state: readyState }), ...(target && { target }), ...(branch && { branch }) }
  const older = new URLSearchParams({ ...kept, until: String(pagination.next) })
  return projectPage(ctx, account, project.name, 'deployments', {
    title: 'Deployments',
    body: html`<div class="head"><h1>Deployments</h1>${project.lastAliasRequest && html`<a href="${path}/progress">Latest promotion or rollback</a>`}</div>
${(isNarrowed || deployments.length > 0) && filters(path, query)}
${
  deployments.length > 0
    ? deploymentRows(
        account,
        project,
        deployments.map(({ uid, ...rest }) => ({ ...rest, id: uid })),
        ctx.now,
      )
    : nothing(ctx, account, project, isNarrowed)
}
<p class="page-links">${until && html`<a href="${path}?${new URLSearchParams(kept).toString()}">Newest</a>`}${pagination.next !== null && html`<a href="${path}?${older.toString()}">Older</a>`}</p>`,
  })
}

function filters(path: string, { state: chosen, target, branch }: Filters): Html {
  const states: Choice[] = [['', 'Any state'], ...READY_STATES.map((state): Choice => [state, STATE_LOOKS[state][1]])]
  const fields = html`<div>${select('state', 'State', states, { value: chosen })}</div>
<div>${select('target', 'Environment', TARGETS, { value: target })}</div>
<div><label for="branch">Branch</label>
<input type="text" id="branch" name="branch" value="${branch}" placeholder="Branch"></div>`
  return filterForm(path, [chosen, target, branch].some(Boolean), fields)
}

function nothing(ctx: ConsoleCtx, account: OwnAccount, project: Project, isNarrowed: boolean): Html {
  if (isNarrowed) return html`<p class="card empty">No deployments match these filters.</p>`
  return firstDeployment(ctx, account, project)
}

/** Shows a deployment with its promotion actions. Refuses: not_found 404, also for one of another project. */
export async function deploymentPage(
  ctx: ConsoleCtx,
  { params }: ScreenInput,
  error?: FormError,
  filters: Static<typeof LogFilters> = {},
) {
  const account = await findAccountOfPath(ctx, params)
  const { project, deployment } = await readDeployment(ctx, account, params)
  const { aliases } = await ctx.callRoute<Static<typeof DeploymentAliases>>('listDeploymentAliases', {
    account,
    params: { id: deployment.id },
  })
  const visitors = await visitorsOf(ctx, account, deployment.id)
  const log = await readBuildLog(ctx, account, project.name, deployment)
  const times = await readBuildTimes(ctx, account, deployment)
  const path = deploymentPath(account, project.name, deployment.id)
  const lines = await functionLog(ctx, account, deployment, path, filters)
  const meta = Object.entries(deployment.meta)
  return projectPage(ctx, account, project.name, 'deployments', {
    title: titleOf(deployment),
    within: [],
    reload: isRunning(deployment) ? RELOAD_SECONDS : undefined,
    body: html`<div class="head"><div class="grow"><h1>${titleOf(deployment)}${deploymentState(project, deployment)}</h1>
<div class="sub line tight small">${commitAuthor(deployment)}${commitRefs(deployment, deployment.gitBranch)}${relativeTime(deployment.createdAt, ctx.now)}${buildDuration(deployment)}</div></div>
<div class="line">${deployment.readyState === 'READY' && html`<a class="btn" href="${siteAddress(ctx, deployment.url)}" rel="noreferrer">Visit${icon('arrow-up-right')}</a>`}${log && buildActions(ctx, account, project.name, deployment)}${ways(account, project, deployment)}</div></div>
${formErrorNotice(error)}
${failureNotice(deployment, log?.lines ?? [])}
${detailsCard(ctx, account, project.name, deployment, visitors, times)}
${log?.card}
${lines}
${aliasesCard(ctx, account, project, deployment, aliases)}
${
  meta.length > 0 &&
  html`<h2>Build metadata</h2>${dataTable(
    'Build metadata',
    ['Field', 'Value'],
    meta.map(([name, value]) => html`<tr><td><code>${name}</code></td><td>${value}</td></tr>`),
  )}`
}`,
  })
}

function isLive({ targets }: Project, { id }: Deployment): boolean {
  return targets?.production?.id === id
}

/** Promotion actions. Buttons for actions that the route would refuse are hidden; a paused project serves no other deployment. */
function ways(account: OwnAccount, project: Project, deployment: Deployment): Html | undefined {
  if (deployment.readyState !== 'READY' || isLive(project, deployment)) return undefined
  if (!canInAccount(account, 'project:write', 'deployment:write')) return undefined
  if (isInTransfer(project)) return undefined
  if (project.paused)
    return html`<p class="soft">The project is paused. <a href="${projectPath(account, project.name)}">Resume</a> it before you promote.</p>`
  const link = (verb: string, words: string, look: string) =>
    html`<a class="btn${look}" href="${deploymentPath(account, project.name, deployment.id, verb)}">${icon(verb === 'promote' ? 'circle-arrow-up' : 'undo-2')}${words}…</a>`
  return html`${deployment.readySubstate === 'PROMOTED' && link('rollback', 'Roll back', '')}${link('promote', 'Promote', ' primary')}`
}
