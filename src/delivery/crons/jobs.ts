/** The cron jobs of projects follow their production deployments. docs/functions.md: Cron jobs. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { nextTimes } from './schedule.ts'

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
    const jobs = (JSON.parse(output?.crons_json ?? '[]') as CronDefinition[]).flatMap(({ path, schedule }, place) => {
      const [next_at] = nextTimes(schedule, now, 1)
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
