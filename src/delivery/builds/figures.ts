/** Builds and runners in numbers, for metrics. docs/operations.md: Metrics. */
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { observe } from '../../metrics.ts'
import type { Queries } from '../../platform/db/db.ts'
import { RUNNER_TIMES, stateOf } from '../runners/registry.ts'
import type { Holder } from './queue.ts'

/** A longer queue is not counted to its end. */
const MOST = 10_000

/** `oldest`: when the oldest waiting build was queued; null: none waits. */
export type BuildFigures = {
  waiting: number
  oldest: number | null
  running: number
  runners: { active: number; draining: number }
}

/** Counts waiting and running builds, and runners that asked for one within two minutes or have one. `now` in ms. */
export async function readBuildFigures(db: Queries, now: number): Promise<BuildFigures> {
  const waiting = db.selectFrom('build').select('queued_at').where(sql<boolean>`state = 'waiting'`).limit(MOST)
  const { count, oldest } = await db
    .selectFrom(waiting.as('some'))
    .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(queued_at)`.as('oldest')])
    .executeTakeFirstOrThrow()
  const leased = await db
    .selectFrom('build')
    .select(['runner', sql<number>`count(*)`.as('builds')])
    .where(sql<boolean>`state = 'leased'`)
    .groupBy('runner')
    .execute()
  const busy = new Set(leased.map(({ runner }) => runner))
  const runners = { active: 0, draining: 0, removed: 0 }
  for (const row of await db.selectFrom('runner').selectAll().execute())
    if (busy.has(row.name) || Number(row.last_seen_at) >= now - RUNNER_TIMES.goneMs) runners[stateOf(row)]++
  return {
    waiting: Number(count),
    oldest: oldest === null ? null : Number(oldest),
    running: leased.reduce((sum, { builds }) => sum + Number(builds), 0),
    runners,
  }
}

/** Counts a build that its runner has ended: its duration, by its outcome. */
export async function countEndedBuild({ db, metrics }: Deps, { deploymentId }: Holder): Promise<void> {
  const ended = await db.read
    .selectFrom('build')
    .innerJoin('deployment', 'deployment.id', 'build.deployment_id')
    .select(['build.started_at', 'build.ended_at', 'deployment.ready_state', 'deployment.error_code'])
    .where('build.deployment_id', '=', deploymentId)
    .executeTakeFirst()
  if (ended === undefined) return
  const { started_at, ended_at, ready_state, error_code } = ended
  const outcome = error_code ?? (ready_state === 'READY' ? 'ready' : 'canceled')
  const seconds = Math.max(0, Number(ended_at) - Number(started_at)) / 1000
  observe(metrics.histogram('berth_build_duration_seconds', outcome), seconds)
}
