/** What the functions of deployments did, by the hour, as sites servers report it. docs/deploying-sites.md: Usage. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { addUsage } from '../../projects/deployments/usage.ts'
import { HOUR_MS, type UsageReport } from '../protocol/usage-report.ts'

/** Hours that are kept, and how far the clock of a sites server may be ahead. */
const RETENTION_MS = 48 * HOUR_MS
const AHEAD_MS = 5 * 60_000

/** Adds a report of usage, once. Ignores functions of unknown deployments, and hours that are not kept. */
export async function storeUsage(db: Queries, report: UsageReport, now: number): Promise<void> {
  if (!(await addUsage(db, report, now))) return
  const counted = (report.functions ?? []).filter(({ hour }) => hour >= now - RETENTION_MS && hour <= now + AHEAD_MS)
  const existing = new Set<string>()
  for (const some of chunks([...new Set(counted.map(({ deploymentId }) => deploymentId))])) {
    const rows = await db.selectFrom('deployment').select('id').where('id', 'in', some).execute()
    for (const { id } of rows) existing.add(id)
  }
  const rows = counted
    .filter(({ deploymentId }) => existing.has(deploymentId))
    .map(({ deploymentId, ...counts }): Row<'function_usage'> => ({ deployment_id: deploymentId, ...counts }))
  // Sorted, so that concurrent reports lock rows in the same order.
  const placeOf = ({ deployment_id, hour, name }: Row<'function_usage'>) => `${deployment_id} ${hour} ${name}`
  rows.sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  for (const some of chunks(rows)) await addRows(db, some)
}

async function addRows(db: Queries, rows: readonly Row<'function_usage'>[]): Promise<void> {
  const sums = (['invocations', 'errors', 'ms'] as const).map((name) => [
    name,
    sql<number>`${sql.ref(`function_usage.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
  ])
  await db
    .insertInto('function_usage')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['deployment_id', 'hour', 'name']).doUpdateSet(Object.fromEntries(sums)))
    .execute()
}

/** Sweep: removes hours that are older than 48 hours, oldest first. Returns their number. */
export async function purgeFunctionUsage({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, limit: number): Promise<number> {
  const old = await db
    .selectFrom('function_usage')
    .select(['deployment_id', 'hour', 'name'])
    .where('hour', '<', now - RETENTION_MS)
    .orderBy('hour')
    .limit(limit)
    .execute()
  for (const [hour, rows] of Map.groupBy(old, (row) => row.hour))
    for (const [id, own] of Map.groupBy(rows, (row) => row.deployment_id))
      for (const some of chunks(own.map(({ name }) => name)))
        await db
          .deleteFrom('function_usage')
          .where('deployment_id', '=', id)
          .where('hour', '=', hour)
          .where('name', 'in', some)
          .execute()
  return old.length
}
