/** The cron jobs of projects follow their production deployments. docs/functions.md: Cron jobs. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import { nextTimes } from './schedule.ts'

/** So much later than the start of the sweep a run can have been taken. */
const MAX_AHEAD_MS = 10 * 60_000

export type CronDefinition = { path: string; schedule: string }

/** Sweep: schedules the cron jobs of new production deployments. Returns the number of projects. */
export async function followProduction({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, limit: number): Promise<number> {
  const projects = await db
    .selectFrom('project')
    .select(['id', 'account_id', 'live_deployment_id'])
    .where(sql<boolean>`coalesce(crons_of, '') <> coalesce(live_deployment_id, '')`)
    .limit(limit)
    .execute()
  for (const { id, account_id, live_deployment_id } of projects) {
    await db.deleteFrom('cron_job').where('project_id', '=', id).execute()
    const output = await db
      .selectFrom('deployment')
      .innerJoin('output', 'output.id', 'deployment.output_id')
      .select('crons_json')
      .where('deployment.id', '=', live_deployment_id ?? '')
      .executeTakeFirst()
    const previous = await lastTimes(db, id, now)
    const jobs = (JSON.parse(output?.crons_json ?? '[]') as CronDefinition[]).flatMap(({ path, schedule }, place) => {
      const [next_at] = nextTimes(schedule, Math.max(now, previous.get(`${schedule} ${path}`) ?? 0), 1)
      return next_at === undefined
        ? []
        : [{ project_id: id, place, deployment_id: live_deployment_id!, path, schedule, next_at }]
    })
    if (jobs.length > 0) await db.insertInto('cron_job').values(jobs).execute()
    await db
      .updateTable('project')
      .set({ crons_of: live_deployment_id })
      .where('account_id', '=', account_id)
      .where('id', '=', id)
      .execute()
  }
  return projects.length
}

/** Times that ran already for the former production: the sweep may have begun before, or its clock may be behind. A later one is of a wrong clock. */
async function lastTimes(db: Queries, projectId: string, now: number): Promise<Map<string, number>> {
  const runs = await db
    .selectFrom('cron_run')
    .select(['path', 'schedule', 'due_at'])
    .where('project_id', '=', projectId)
    .where('due_at', '>', now)
    .where('due_at', '<=', now + MAX_AHEAD_MS)
    .orderBy('due_at')
    .execute()
  return new Map(runs.map(({ path, schedule, due_at }) => [`${schedule} ${path}`, Number(due_at)]))
}
