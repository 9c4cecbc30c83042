/** The states of deployments, and their rows in a list. docs/console.md: Project pages. */
import type { ReadyState } from '../../../platform/db/deployment-tables.ts'
import { icon } from '../../../platform/pages/face/icons.ts'
import { type Glyph, type Mood, state } from '../../../platform/pages/face/states.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { actionMenu, sentenceCase } from '../../controls.ts'
import { canInAccount, deploymentPath, projectPath } from '../../frame.ts'
import { duration, relativeTime } from '../../time.ts'
import { commitAuthor, commitRefs, titleOf } from '../commit.ts'
import { isInTransfer } from '../list.ts'
import { siteAddress } from './details.ts'

/** What a list, a summary and the deployment itself have in common. */
type Shown = {
  id: string
  url: string
  meta: Record<string, string>
  readyState: ReadyState
  readySubstate?: 'STAGED' | 'PROMOTED'
  target: 'production' | null
  createdAt: number
  buildingAt?: number
  ready?: number
}

/** TABLE Color, shape and word of a deployment state. */
export const STATE_LOOKS: Readonly<Record<ReadyState, readonly [mood: Mood, words: string, shape: Glyph]>> = {
  QUEUED: ['idle', 'Queued', 'queued'],
  INITIALIZING: ['busy', 'Starting', 'building'],
  BUILDING: ['busy', 'Building', 'building'],
  READY: ['good', 'Ready', 'ready'],
  ERROR: ['bad', 'Failed', 'failed'],
  CANCELED: ['idle', 'Canceled', 'canceled'],
}

/** Renders the state of a deployment: live, paused with its project, waiting for a promote, or how far it is. */
export function deploymentState(project: Project, deployment: Shown): Html {
  const { paused, targets } = project
  const live = targets?.production
  // Visitors of a paused project get 503.
  if (deployment.id === live?.id) return paused ? state('warn', 'Paused', 'paused') : state('good', 'Live', 'live')
  const isStaged = deployment.target === 'production' && deployment.readySubstate === 'STAGED'
  const isNewer = deployment.createdAt > (live?.createdAt ?? 0) && !isPassedOver(project, deployment.createdAt)
  if (isStaged && isNewer) return state('warn', 'Waiting', 'waiting')
  return state(...STATE_LOOKS[deployment.readyState])
}

/** Returns whether the last rollback went past a deployment of this time: it is not to be promoted again. */
export function isPassedOver({ lastAliasRequest }: Project, createdAt: number): boolean {
  return lastAliasRequest?.type === 'rollback' && createdAt <= lastAliasRequest.requestedAt
}

/** Returns the row of a deployment that its project lists. */
export function rowOf({ readyAt, ...rest }: Project['latestDeployments'][number]): Shown {
  return { ...rest, ...(readyAt && { ready: readyAt }) }
}

/** Returns the ways of a deployment into production that the user may go, and that the routes do not refuse. */
export function movesOf(account: OwnAccount, project: Project, deployment: Shown): readonly ('rollback' | 'promote')[] {
  const { readyState, readySubstate, id } = deployment
  if (readyState !== 'READY' || id === project.targets?.production?.id) return []
  if (!canInAccount(account, 'project:write', 'deployment:write')) return []
  if (isInTransfer(project) || project.paused) return []
  return readySubstate === 'PROMOTED' ? ['rollback', 'promote'] : ['promote']
}

/** TABLE Words and icons of the ways into production. */
export const MOVE_LOOKS = { rollback: ['Roll back', 'undo-2'], promote: ['Promote', 'circle-arrow-up'] } as const

function menu(ctx: ConsoleCtx, account: OwnAccount, project: Project, deployment: Shown): Html | undefined {
  const to = (page: string) => deploymentPath(account, project.name, deployment.id, page)
  const visits = deployment.readyState === 'READY'
  const removes = canInAccount(account, 'project:write', 'deployment:write')
  if (!visits && !removes) return undefined
  const moves = movesOf(account, project, deployment).map((move) => {
    const [words, shape] = MOVE_LOOKS[move]
    return html`<a href="${to(move)}">${icon(shape)}${words}…</a>`
  })
  return actionMenu(
    deployment.id,
    titleOf(deployment),
    html`${visits && html`<a href="${siteAddress(ctx, deployment.url)}" rel="noreferrer">${icon('arrow-up-right')}Visit</a>`}${moves}${visits && removes && html`<hr>`}${removes && html`<a class="bad" href="${to('remove')}">${icon('trash-2')}Remove…</a>`}`,
  )
}

const CHOSEN = 'chosen'

/** Renders deployments as `deploymentRows`, with boxes and a button that removes the chosen ones, for roles that may. */
export function removableRows(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  deployments: readonly Shown[],
): Html {
  const removes = canInAccount(account, 'project:write', 'deployment:write')
  return html`${deploymentRows(ctx, account, project, deployments, removes)}
${removes && html`<form class="chosen" id="${CHOSEN}" action="${projectPath(account, project.name, 'deployments/remove')}"><button class="btn bad">${icon('trash-2')}Remove chosen…</button></form>`}`
}

/** Renders deployments by time, each row a link with a menu. The live one says so, and has no box. */
export function deploymentRows(
  ctx: ConsoleCtx,
  account: OwnAccount,
  project: Project,
  deployments: readonly Shown[],
  hasBoxes = false,
): Html {
  const live = project.targets?.production?.id
  return html`<ol class="card rows deps">${deployments.map((deployment) => {
    const title = titleOf(deployment)
    const box =
      hasBoxes &&
      deployment.id !== live &&
      html`<label class="above choose"><input type="checkbox" name="id" value="${deployment.id}" form="${CHOSEN}" aria-label="Choose ${title}"></label>`
    return html`<li class="hit">${box}<div class="dep"><span class="dep-st">${deploymentState(project, deployment)}${buildDuration(deployment)}</span>
<div class="dep-what"><span class="line tight one"><a class="to medium" href="${deploymentPath(account, project.name, deployment.id)}">${title}</a>${deployment.id === live && html`<span class="badge good">Current</span>`}</span>
<span class="line tight">${commitRefs(deployment)}${title !== deployment.url && html`<span class="small faint cut">${deployment.url}</span>`}</span></div>
<span class="dep-env"><span class="badge${deployment.target === 'production' && ' accent'}">${sentenceCase(deployment.target ?? 'preview')}</span></span>
<span class="dep-who small soft">${commitAuthor(deployment)}${relativeTime(deployment.createdAt, ctx.now)}</span>${menu(ctx, account, project, deployment)}</div></li>
`
  })}</ol>`
}

/** Renders how long the build took. Undefined for a deployment that was not built here, or is not ready. */
export function buildDuration({ buildingAt = Infinity, ready }: Pick<Shown, 'buildingAt' | 'ready'>): Html | undefined {
  return ready === undefined || ready <= buildingAt
    ? undefined
    : html`<span class="small soft">${duration(ready - buildingAt)}</span>`
}
