/** The cron jobs of a project, when they run next, and how their last runs ended. docs/functions.md: Cron jobs. */
import type { Static } from 'typebox'
import type { Ctx } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import type { Row } from '../../platform/db/schema.ts'
import { route } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, Timestamp } from '../../platform/schema/fields.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { KEPT_RUNS, runsCrons } from './runs.ts'
import { nextTimes } from './schedule.ts'

const NEXT_TIMES = 5

export const CronJobs = Type.Object({
  enabled: Type.Boolean({ description: 'false: the project is paused, or its cron jobs are switched off' }),
  crons: Type.Array(
    Type.Object({
      path: Type.String(),
      schedule: Type.String({ description: 'in UTC' }),
      deploymentId: Type.String(),
      nextTimes: Type.Array(Timestamp),
    }),
  ),
  runs: Type.Array(
    Type.Object({
      id: Type.String(),
      path: Type.String(),
      schedule: Type.String(),
      deploymentId: Type.String(),
      dueAt: Timestamp,
      beganAt: Timestamp,
      endedAt: Nullable(Timestamp),
      status: Nullable(Type.Integer({ description: 'of the response' })),
      fault: Nullable(Type.String({ description: 'why there was none' })),
    }),
    { description: 'the newest first' },
  ),
})

async function listCronJobs(ctx: Ctx, project: Row<'project'>): Promise<Static<typeof CronJobs>> {
  const enabled = runsCrons(project)
  const jobs = await ctx.db
    .selectFrom('cron_job')
    .selectAll()
    .where('project_id', '=', project.id)
    .orderBy('place')
    .execute()
  const live = jobs.filter(({ deployment_id }) => deployment_id === project.live_deployment_id)
  const runs = await ctx.db
    .selectFrom('cron_run')
    .selectAll()
    .where('project_id', '=', project.id)
    .orderBy('began_at', 'desc')
    .orderBy('id', 'desc')
    .limit(KEPT_RUNS)
    .execute()
  return {
    enabled,
    crons: await mapInSlices(live, ({ path, schedule, deployment_id: deploymentId }) => {
      return { path, schedule, deploymentId, nextTimes: enabled ? nextTimes(schedule, ctx.now, NEXT_TIMES) : [] }
    }),
    runs: runs.map(({ id, path, schedule, deployment_id: deploymentId, status, fault, ...run }) => ({
      ...{ id, path, schedule, deploymentId, status, fault },
      ...{ dueAt: Number(run.due_at), beganAt: Number(run.began_at) },
      endedAt: run.ended_at === null ? null : Number(run.ended_at),
    })),
  }
}

export const cronRoutes = [
  route({
    method: 'GET',
    path: '/v1/projects/:idOrName/crons',
    operationId: 'listProjectCrons',
    summary: 'List the cron jobs of a project, their next times and their last runs',
    tag: 'projects',
    needs: ['deployment:read'],
    load: findProject,
    run: listCronJobs,
    list: { rows: OUTPUT_LIMITS.crons + KEPT_RUNS, rowBytes: 2048 },
    refuses: ['not_found'],
    status: 200,
    reply: CronJobs,
  }),
]
