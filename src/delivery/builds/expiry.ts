/** Sweep of leases that expired without a report of the runner, and of builds that run too long. docs/building.md: Leases. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { LEASE_TIMES } from '../protocol/runner-protocol.ts'
import { failDeployment } from './end.ts'
import { moveDeployment } from './queue.ts'

/** A build has this many attempts. */
const MAX_ATTEMPTS = 3
/** The runner ends a build at its time limit; this long after that, the control plane does. */
const GRACE_MS = 2 * 60_000
/** A runner that still renews the lease of a deployment this long after its end loses it. */
const LATE_MS = 2 * 60_000

/**
 * Puts builds whose lease ended back into the queue; the third such end fails them with RUNNER_LOST. Ends builds that run for too
 * long with BUILD_TIMED_OUT, and takes the lease of a runner that does not end one. Returns the number of builds.
 */
export async function endLostBuilds(ctx: OperatorCtx, limit: number): Promise<number> {
  return (await expireLeases(ctx, limit)) + (await endOverdue(ctx))
}

async function expireLeases(ctx: OperatorCtx, limit: number): Promise<number> {
  const lost = await ctx.db
    .selectFrom('build')
    .selectAll()
    .where(sql<boolean>`state = 'leased'`)
    .where('lease_until', '<', ctx.now)
    .orderBy('lease_until')
    .limit(limit)
    .execute()
  for (const build of lost) await expire(ctx, build)
  return lost.length
}

async function expire(ctx: OperatorCtx, build: Row<'build'>): Promise<void> {
  const attempt = Number(build.attempt)
  const isOver = attempt >= MAX_ATTEMPTS || build.cancel_requested === 1
  const { numUpdatedRows } = await ctx.db
    .updateTable('build')
    .set({
      state: isOver ? 'ended' : 'waiting',
      lease_until: null,
      token_hash: null,
      ...(isOver && { ended_at: ctx.now }),
    })
    .where('deployment_id', '=', build.deployment_id)
    .where('attempt', '=', attempt)
    .where('state', '=', 'leased')
    // A beat may have renewed it.
    .where('lease_until', '<', ctx.now)
    .executeTakeFirst()
  if (numUpdatedRows === 0n || build.cancel_requested === 1) return
  if (isOver) return failDeployment(ctx, build.deployment_id, { code: 'RUNNER_LOST', message: LOST })
  await moveDeployment(ctx, build, 'INITIALIZING', 'lease_expired')
  await moveDeployment(ctx, build, 'BUILDING', 'lease_expired')
}

const LOST = `The runner was lost ${MAX_ATTEMPTS} times while it built this. Deploy again; if it happens again, ask the operator of this Berth.`

/** The next beat reports the end of the deployment to the runner. A runner that goes on beating loses the lease. */
async function endOverdue(ctx: OperatorCtx): Promise<number> {
  const leased = await ctx.db
    .selectFrom('build')
    .select(['deployment_id', 'cancel_requested', 'started_at'])
    .where(sql<boolean>`state = 'leased'`)
    .where('lease_until', '>', 0)
    .execute()
  const startedBefore = ctx.now - LEASE_TIMES.buildMs - GRACE_MS
  const overdue = leased.filter((build) => build.cancel_requested === 0 && Number(build.started_at) < startedBefore)
  for (const { deployment_id } of overdue)
    await failDeployment(ctx, deployment_id, { code: 'BUILD_TIMED_OUT', message: OVERDUE })
  let ended = overdue.length
  for (const { deployment_id } of leased.filter((build) => build.cancel_requested === 1))
    if (await endUnheeded(ctx, deployment_id)) ended++
  return ended
}

const OVERDUE = `The build took longer than ${LEASE_TIMES.buildMs / 60_000} minutes, and its runner did not end it. The control plane did.`

async function endUnheeded({ db, now }: OperatorCtx, deploymentId: string): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('build')
    .set({ state: 'ended', ended_at: now, lease_until: null, token_hash: null })
    .where('deployment_id', '=', deploymentId)
    .where('state', '=', 'leased')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('deployment')
          .select('id')
          .where('id', '=', deploymentId)
          .where('failed_at', '<', now - LATE_MS),
      ),
    )
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
