/** The states of deployments, and their rows in a list. docs/console.md: Project pages. */
import type { ReadyState } from '../../../platform/db/deployment-tables.ts'
import { type Glyph, type Mood, state } from '../../../platform/pages/face/states.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { Project } from '../../../projects/projects/schema.ts'
import { sentenceCase } from '../../controls.ts'
import { deploymentPath } from '../../frame.ts'
import { duration, relativeTime } from '../../time.ts'
import { commitAuthor, commitRefs, titleOf } from '../commit.ts'

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

/** Renders deployments by time, each row a link. The live one says so. */
export function deploymentRows(
  account: OwnAccount,
  project: Project,
  deployments: readonly Shown[],
  now: number,
): Html {
  return html`<ol class="card rows deps">${deployments.map((deployment) => {
    const title = titleOf(deployment)
    return html`<li class="hit"><div class="dep"><span class="dep-st">${deploymentState(project, deployment)}${buildDuration(deployment)}</span>
<div class="dep-what"><span class="line tight one"><a class="to medium" href="${deploymentPath(account, project.name, deployment.id)}">${title}</a>${deployment.id === project.targets?.production?.id && html`<span class="badge good">Current</span>`}</span>
<span class="line tight">${commitRefs(deployment)}${title !== deployment.url && html`<span class="small faint cut">${deployment.url}</span>`}</span></div>
<span class="dep-env"><span class="badge${deployment.target === 'production' && ' accent'}">${sentenceCase(deployment.target ?? 'preview')}</span></span>
<span class="dep-who small soft">${commitAuthor(deployment)}${relativeTime(deployment.createdAt, now)}</span></div></li>
`
  })}</ol>`
}

/** Renders how long the build took. Undefined for a deployment that was not built here, or is not ready. */
export function buildDuration({ buildingAt = Infinity, ready }: Pick<Shown, 'buildingAt' | 'ready'>): Html | undefined {
  return ready === undefined || ready <= buildingAt
    ? undefined
    : html`<span class="small soft">${duration(ready - buildingAt)}</span>`
}
