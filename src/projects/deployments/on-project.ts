import type { OperatorCtx, ProjectHooks } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { changeInSteps, createYielder, type Step } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import { deleteMappings } from '../serving/mappings.ts'
import { deleteBuilds } from './builds.ts'
import { releaseOutputs } from './outputs.ts'
import { deleteUsage } from './usage.ts'

type Ctx = Pick<OperatorCtx, 'db'>

export const deploymentsOnProject: ProjectHooks = {
  remove: (ctx, { id }) => removeDeployments(ctx, id),
  async move(ctx, { id, deployments_json }, to) {
    if (deployments_json !== null) await moveDeployments(ctx, id, to.id)
  },
}

/** TABLE what moves with a project → its column in order, and rows per step, which take milliseconds: a row of the log has 128 KiB. */
const MOVED = {
  deployment: ['created_stamp', 500],
  alias: ['created_stamp', 500],
  runtime_log: ['last_at', 10],
} as const

/** Moves the deployments of a project to another account, in the transaction of the project. There may be 100,000. */
async function moveDeployments(ctx: Ctx, projectId: string, accountId: string): Promise<void> {
  for (const table of ['deployment', 'alias', 'runtime_log'] as const)
    await inSteps(ctx, table, projectId, ({ of, stamp, after, end }) =>
      ctx.db
        .updateTable(of)
        .set({ account_id: accountId })
        .where('project_id', '=', projectId)
        .where(stamp, '>', after)
        .where(stamp, '<=', end)
        .execute(),
    )
  await refreshDeploymentSummary(ctx, projectId)
}

async function removeDeployments(ctx: Ctx, projectId: string): Promise<void> {
  const { db } = ctx
  const requests = await db.deleteFrom('alias_request').where('project_id', '=', projectId).returning('id').execute()
  for (const { id } of requests) await deleteMappings(db, id)
  for (const table of ['cron_job', 'cron_run', 'data_cache_size'] as const)
    await db.deleteFrom(table).where('project_id', '=', projectId).execute()
  await removeMeta(db, projectId)
  for (const table of ['alias', 'deployment'] as const)
    await inSteps(ctx, table, projectId, async ({ of, stamp, after, end }) => {
      const ofStep = db.deleteFrom(of).where('project_id', '=', projectId).where(stamp, '>', after)
      const deleted = ofStep.where(stamp, '<=', end)
      if (table === 'alias') return deleted.execute()
      const rows = await deleted.returning(['id', 'output_id', 'source_id', 'env_id']).execute()
      const ids = rows.map(({ id }) => id)
      await releaseOutputs(ctx, rows)
      // By ids: with a subquery, PostgreSQL scans all usage.
      await deleteUsage(ctx, ids)
      return deleteBuilds(ctx, ids)
    })
}

/** Rows of `deployment_meta` per step. */
const META_ROWS = 500

async function removeMeta(db: Queries, projectId: string): Promise<void> {
  const pace = createYielder()
  for (let count = META_ROWS; count === META_ROWS; ) {
    const some = db.selectFrom('deployment_meta').select(['mark', 'deployment_id']).where('project_id', '=', projectId)
    const deleted = await db
      .deleteFrom('deployment_meta')
      .where('project_id', '=', projectId)
      .where(({ eb, refTuple }) =>
        eb(refTuple('mark', 'deployment_id'), 'in', some.limit(META_ROWS).$asTuple('mark', 'deployment_id')),
      )
      .returning('mark')
      .execute()
    count = deleted.length
    await pace()
  }
}

type ProjectStep = { of: 'deployment'; stamp: 'created_stamp'; after: number; end: number }

/** Changes the rows of a project in a table. The types of `change` are those of one table: the statements are the same for each. */
async function inSteps(
  { db }: Ctx,
  table: keyof typeof MOVED,
  projectId: string,
  change: (step: ProjectStep) => Promise<unknown>,
): Promise<void> {
  const [column, rows] = MOVED[table]
  const [of, stamp] = [table, column] as ['deployment', 'created_stamp']
  await changeInSteps(
    async (after) => {
      const following = db.selectFrom(of).select(stamp).where('project_id', '=', projectId).where(stamp, '>', after)
      const [last] = await following
        .orderBy(stamp)
        .offset(rows - 1)
        .limit(1)
        .execute()
      return last?.[stamp]
    },
    ({ after, end = Number.MAX_SAFE_INTEGER }: Step) => change({ of, stamp, after, end }),
  )
}
