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
import { deploymentPath, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { relativeTime } from '../time.ts'
import {
  buildActions,
  failureNotice,
  isRunning,
  isUrl,
  RELOAD_SECONDS,
  readBuildLog,
  readBuildTimes,
} from './build-log.ts'
import { commitAuthor, commitRefs, titleOf } from './commit.ts'
import { aliasesCard } from './deployment/aliases.ts'
import { detailsCard, siteAddress } from './deployment/details.ts'
import { firstDeployment } from './deployment/first.ts'
import { DEPLOYMENT_READ, readDeployment } from './deployment/of-project.ts'
import {
  buildDuration,
  deploymentRows,
  deploymentState,
  MOVE_LOOKS,
  movesOf,
  removableRows,
  rowOf,
  STATE_LOOKS,
} from './deployment/rows.ts'
import { readUsage, visitorsChart } from './deployment/visitors.ts'
import { functionLog, LogFilters } from './functions/function-log.ts'

export const DEPLOYMENTS_PATH = '/console/t/:slug/projects/:name/deployments'
/** Rows of a page, and the deployments that are removed at once. */
export const PAGE = 30
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
    body: html`<div class="head"><h1>Deployments</h1>${project.lastAliasRequest && html`<a class="btn quiet" href="${path}/progress">${icon('history')}Latest promotion or rollback</a>`}</div>
${(isNarrowed || deployments.length > 0) && filters(path, query)}
${deployments.length > 0 ? list(ctx, account, project, deployments, isNarrowed) : nothing(ctx, account, project, isNarrowed)}
<p class="page-links">${until && html`<a href="${path}?${new URLSearchParams(kept).toString()}">Newest</a>`}${pagination.next !== null && html`<a href="${path}?${older.toString()}">Older</a>`}</p>`,
  })
}

/** The first page shows the live deployment on top, however old it is. */
function list(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  deployments: Static<typeof DeploymentList>['deployments'],
  isNarrowed: boolean,
): Html {
  const rows = deployments.map(({ uid, ...rest }) => ({ ...rest, id: uid }))
  const live = project.targets.production
  if (isNarrowed || live === undefined) return removableRows(ctx, account, project, rows)
  const others = rows.filter(({ id }) => id !== live.id)
  return html`<h2>In production</h2>
${deploymentRows(ctx, account, project, [rowOf(live)])}
${others.length > 0 && html`<h2>All deployments</h2>${removableRows(ctx, account, project, others)}`}`
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
  const { visitors, functions } = await readUsage(ctx, account, deployment.id)
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
${visitorsChart(visitors)}
${log?.card}
${functions}
${lines}
${aliasesCard(ctx, account, project, deployment, aliases)}
${
  meta.length > 0 &&
  html`<h2>Build metadata</h2>${dataTable(
    'Build metadata',
    ['Field', 'Value'],
    meta.map(([name, value]) => html`<tr><td><code>${name}</code></td><td class="long">${metaValue(value)}</td></tr>`),
  )}`
}`,
  })
}

function metaValue(value: string): Html | string {
  return isUrl(value) ? html`<a href="${value}" rel="noreferrer">${value}</a>` : value
}

/** Promotion actions. A paused project serves no other deployment. */
function ways(account: OwnAccount, project: Project, deployment: Deployment): Html | undefined {
  const moves = movesOf(account, { ...project, paused: false }, deployment)
  if (project.paused && moves.length > 0)
    return html`<p class="soft">The project is paused. <a href="${projectPath(account, project.name)}">Resume</a> it before you promote.</p>`
  return html`${moves.map((move) => {
    const [words, shape] = MOVE_LOOKS[move]
    return html`<a class="btn${move === 'promote' && ' primary'}" href="${deploymentPath(account, project.name, deployment.id, move)}">${icon(shape)}${words}…</a>`
  })}`
}
