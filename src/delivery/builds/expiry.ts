/** Sweep of leases that ended without a word of their runner. docs/building.md: Leases. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { failDeployment } from './end.ts'
import { moveDeployment } from './queue.ts'

/** A build has this many attempts. */
const MAX_ATTEMPTS = 3

/** Puts builds whose lease ended back into the queue; after two more attempts they fail with RUNNER_LOST. Returns their number. */
export async function expireLeases(ctx: OperatorCtx, limit: number): Promise<number> {
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
    // A beat may have come between.
    .where('lease_until', '<', ctx.now)
    .executeTakeFirst()
  if (numUpdatedRows === 0n || build.cancel_requested === 1) return
  if (isOver) return failDeployment(ctx, build.deployment_id, { code: 'RUNNER_LOST', message: LOST })
  await moveDeployment(ctx, build, 'INITIALIZING', 'lease_expired')
  await moveDeployment(ctx, build, 'BUILDING', 'lease_expired')
}

const LOST = `The runner was lost ${MAX_ATTEMPTS} times while it built this. Deploy again; if it happens again, ask the operator of this Berth.`
