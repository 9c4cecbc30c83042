/** Registers deployments and applies the effects of their states. docs/deployments.md. */
import type { EventAccount, OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { changeProject } from '../../model/project.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import type { ReadyState } from '../../platform/db/deployment-tables.ts'
import type { Row } from '../../platform/db/schema.ts'
import { mustFit } from '../../platform/limiter/must-fit.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { followBranch } from '../serving/addresses.ts'
import { mailFailure } from '../serving/failure-mail.ts'
import { assignReadyDeployment } from '../serving/production.ts'
import { mustNotBeClaimedDomain } from '../serving/validate.ts'
import { endBuildOf } from './builds.ts'
import { writeMeta } from './meta.ts'

export const DEPLOYMENT_EVENTS = [
  'deployment.created',
  'deployment.ready',
  'deployment.succeeded',
  'deployment.error',
  'deployment.canceled',
] as const satisfies EventName[]

/** Fields of a new deployment; the rest comes from its project and the current time. */
type New = Pick<
  Row<'deployment'>,
  'id' | 'url' | 'target' | 'ready_state' | 'git_branch' | 'custom_environment_id' | 'meta_json'
> &
  Partial<
    Pick<
      Row<'deployment'>,
      'upstream' | 'output_id' | 'source_id' | 'env_id' | 'building_at' | 'ready_at' | 'failed_at' | 'error_message'
    >
  >

/**
 * Inserts a deployment and applies its state; one that is READY gets its domains (`assignReadyDeployment`), unless `takesDomains`
 * is false. Returns its row. Refuses: deployment_url_taken 409 (by the unique index, or by a verified domain), and as the budget
 * does.
 */
export async function registerDeployment(
  ctx: OperatorCtx,
  project: Row<'project'>,
  owner: EventAccount & Pick<Row<'account'>, 'plan'>,
  body: New,
  takesDomains = true,
): Promise<Row<'deployment'>> {
  await mustNotBeClaimedDomain(ctx, body.url)
  const row = await ctx.db
    .insertInto('deployment')
    .values({
      account_id: project.account_id,
      project_id: project.id,
      name: project.name,
      plan: owner.plan,
      created_stamp: await stampAfterNewest(ctx, project.id),
      ...body,
    })
    .onConflict((conflict) => conflict.column('url').doNothing())
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) refuse('deployment_url_taken', `Another deployment has the url "${body.url}".`)
  await mustFit(ctx, 'deployments', project.account_id)
  await writeMeta(ctx, row)
  tell(ctx, 'deployment.created', row, owner)
  const settled = await settle(ctx, project, owner, row, takesDomains)
  // The project row is written last everywhere, which avoids deadlocks.
  await changeProject(ctx, project, {})
  return settled
}

/** The order of creation decides what production and branches show, so a clock that is or was ahead elsewhere must not change it. */
async function stampAfterNewest({ db, stamp }: OperatorCtx, projectId: string): Promise<number> {
  const newest = await db
    .selectFrom('deployment')
    .select(({ fn }) => fn.max('created_stamp').as('stamp'))
    .where('project_id', '=', projectId)
    .executeTakeFirst()
  const last = Number(newest?.stamp ?? 0)
  // A random step, because another project may take the next stamp at once, and stamps are unique.
  return stamp > last ? stamp : last + 1 + Math.floor(Math.random() * STAMPS_PER_MS)
}

/** Builds the event payload of a deployment. docs/spec/wire.md 3.8. */
export function showDeploymentEvent(ctx: Pick<OperatorCtx, 'deps'>, row: Row<'deployment'>) {
  const { id, url, name } = row
  return {
    deployment: { id, meta: JSON.parse(row.meta_json) as Record<string, string>, url, name },
    links: { deployment: `https://${url}`, project: `${ctx.deps.origin()}/v9/projects/${row.project_id}` },
    target: row.target === 'production' ? ('production' as const) : null,
    project: { id: row.project_id },
    plan: row.plan,
    regions: [],
  }
}

/** Applies the effects of the current state and returns the updated row. `takesDomains` false: the deployment stays STAGED. */
export async function settle(
  ctx: OperatorCtx,
  project: Row<'project'>,
  owner: EventAccount,
  row: Row<'deployment'>,
  takesDomains = true,
): Promise<Row<'deployment'>> {
  if (row.ready_state === 'READY') {
    if (takesDomains) await assignReadyDeployment(ctx, project, row)
    await followBranch(ctx, project, row.git_branch)
    tell(ctx, 'deployment.ready', row, owner)
    tell(ctx, 'deployment.succeeded', row, owner)
  }
  // A new deployment that is READY has no build.
  if (isEnd(row.ready_state) && row.source_id !== null) await endBuildOf(ctx, row.id)
  if (row.ready_state === 'ERROR') {
    tell(ctx, 'deployment.error', row, owner)
    if (row.target === 'production') await mailFailure(ctx, project, owner, row)
  }
  if (row.ready_state === 'CANCELED') tell(ctx, 'deployment.canceled', row, owner)
  await refreshDeploymentSummary(ctx, project.id)
  return ctx.db.selectFrom('deployment').selectAll().where('id', '=', row.id).executeTakeFirstOrThrow()
}

function tell(
  ctx: OperatorCtx,
  type: (typeof DEPLOYMENT_EVENTS)[number],
  row: Row<'deployment'>,
  { id, kind }: EventAccount,
): void {
  ctx.emit(type, showDeploymentEvent(ctx, row), row.project_id, { id, kind })
}

/** Returns whether a state is final. */
export function isEnd(state: ReadyState): boolean {
  return state === 'READY' || state === 'ERROR' || state === 'CANCELED'
}

/** Returns the timestamps of a deployment that enters a state now. */
export function momentsOf(state: ReadyState, now: number) {
  if (state === 'BUILDING') return { building_at: now }
  if (state === 'READY') return { ready_at: now }
  return state === 'ERROR' || state === 'CANCELED' ? { failed_at: now } : {}
}
