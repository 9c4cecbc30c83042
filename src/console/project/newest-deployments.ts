import type { Row } from '../../platform/db/schema.ts'
import { glyph } from '../../platform/pages/face/states.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../platform/pages/screen.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { deploymentPath } from '../frame.ts'
import { withoutStyles } from './build-log.ts'
import { titleOf } from './commit.ts'

export type LatestDeployment = Pick<Row<'deployment'>, (typeof COLUMNS)[number]>

/** Longest reason of a failure in a sentence, in characters. */
const MAX_REASON = 200

export type NewestDeployments = ReadonlyMap<string, readonly LatestDeployment[]>

const COLUMNS = [
  'id',
  'project_id',
  'url',
  'target',
  'ready_state',
  'git_branch',
  'custom_environment_id',
  'created_stamp',
  'meta_json',
  'error_message',
] as const

/**
 * Returns the newest deployments per project id, newest first: of production, and of each branch and custom environment among the latest
 * deployments. One query for all projects of a page.
 */
export async function readLatestDeployments(
  { db }: ConsoleCtx,
  projects: readonly Project[],
): Promise<NewestDeployments> {
  const latest = projects.flatMap(({ latestDeployments }) => latestDeployments.map(({ id }) => id))
  if (latest.length === 0) return new Map()
  const production = db
    .selectFrom('project')
    .select((eb) =>
      eb
        .selectFrom('deployment as one')
        .select('one.id')
        .whereRef('one.project_id', '=', 'project.id')
        .where('one.target', '=', 'production')
        .orderBy('one.created_stamp', 'desc')
        .limit(1)
        .as('id'),
    )
    .where(
      'project.id',
      'in',
      projects.map(({ id }) => id),
    )
  const rows = await db
    .selectFrom('deployment')
    .select(COLUMNS)
    .where('id', 'in', latest)
    .unionAll(db.selectFrom('deployment').select(COLUMNS).where('id', 'in', production))
    .execute()
  const newest = Map.groupBy(
    rows.toSorted((a, b) => b.created_stamp - a.created_stamp),
    ({ project_id, target, git_branch, custom_environment_id }) =>
      JSON.stringify(
        target === 'production' ? [project_id] : [project_id, custom_environment_id ?? '', git_branch ?? ''],
      ),
  )
  return Map.groupBy(
    [...newest.values()].map(([first]) => first!),
    ({ project_id }) => project_id,
  )
}

/** Canceled previews do not count as failed. Without a successful production deployment, new domains cannot be added. */
function isFailed({ target, ready_state }: Pick<LatestDeployment, 'target' | 'ready_state'>): boolean {
  return ready_state === 'ERROR' || (target === 'production' && ready_state === 'CANCELED')
}

/** Returns failed deployments, production first. */
export function failedOf(newest: readonly LatestDeployment[] = []): LatestDeployment[] {
  const failed = newest.filter(isFailed)
  return failed.toSorted((a, b) => Number(b.target === 'production') - Number(a.target === 'production'))
}

/** Renders a failed deployment as a link, for project cards. */
export function failedState(account: OwnAccount, project: string, deployment: LatestDeployment): Html {
  return html`<a class="state bad" href="${deploymentPath(account, project, deployment.id)}">${glyph('bad')}${kindOf(deployment)}${ofBranch(deployment)} ${endOf(deployment)}</a>`
}

/** Renders a failed deployment as a sentence, for the overview. */
export function failedSentence(account: OwnAccount, project: string, deployment: LatestDeployment): Html {
  const reason = failureReason(deployment)
  const after = deployment.target === 'production' && html` You can't add domains until a deployment succeeds.`
  return html`The newest ${kindOf(deployment).toLowerCase()}${ofBranch(deployment)} ${endOf(deployment)}: <a href="${deploymentPath(account, project, deployment.id)}">${latestTitle(deployment)}</a>.${reason !== undefined && html` <span class="soft any">${reason}</span>`}${after}`
}

/** Returns the first line of the commit message; of a deployment without a commit, its URL. */
export function latestTitle({ meta_json, url }: LatestDeployment): string {
  return titleOf({ meta: JSON.parse(meta_json), url })
}

/** Returns the beginning of why a deployment failed; its page has all of it. Undefined where that is not known. */
export function failureReason({ error_message }: LatestDeployment): string | undefined {
  if (error_message === null) return undefined
  const message = withoutStyles(error_message)
  return message.length > MAX_REASON ? `${message.slice(0, MAX_REASON)}…` : message
}

function kindOf({ target }: LatestDeployment): string {
  return target === 'production' ? 'Production deployment' : 'Preview deployment'
}

function ofBranch({ target, git_branch }: LatestDeployment): string {
  return target === 'production' || git_branch === null ? '' : ` of branch ${git_branch}`
}

function endOf({ ready_state }: LatestDeployment): string {
  return ready_state === 'CANCELED' ? 'was canceled' : 'failed'
}
