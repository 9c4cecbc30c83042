/** Hourly visitor usage of deployments, reported by sites servers. docs/deploying-sites.md: Usage. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Ctx, Input, OperatorCtx } from '../../context.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Timestamp } from '../../platform/schema/fields.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const RETENTION_MS = 30 * DAY_MS
/** Tolerance for the clock of a sites server, whose hour may not have begun here. */
const AHEAD_MS = 5 * 60_000
/** A report may be retried while its hours count. */
const REPORT_RETENTION_MS = RETENTION_MS + DAY_MS
const MAX_FUNCTIONS = 100
/** All retained hours and the current one. */
export const MAX_HOURS = RETENTION_MS / HOUR_MS + 1

export const UsageQuery = Type.Object({
  since: Type.Optional({ ...Timestamp, description: 'hours that begin then or later; 24 hours ago when not given' }),
  until: Type.Optional({ ...Timestamp, description: 'hours that begin before; all when not given' }),
})

const Statuses = Type.Object({
  '2xx': Type.Integer(),
  '3xx': Type.Integer(),
  '4xx': Type.Integer(),
  '5xx': Type.Integer(),
})

/** Hours without a request are omitted. */
export const DeploymentUsage = Type.Object({
  usage: Type.Array(
    Type.Object({
      hour: { ...Timestamp, description: 'the time at which it begins' },
      requests: Type.Integer({ description: 'those whose visitor left before an answer began have no status' }),
      statuses: Statuses,
      bytes: Type.Integer({ description: 'of the bodies of the answers' }),
    }),
  ),
  functions: Type.Array(
    Type.Object({
      name: Type.String({ description: 'empty for those above 100 of an hour' }),
      invocations: Type.Integer(),
      errors: Type.Integer({ description: 'failures, and answers with a status of 500 or more' }),
      ms: Type.Integer({ description: 'of all invocations together' }),
    }),
    { description: 'the 100 that were invoked most in these hours, of the last 48' },
  ),
})
type Hour = Static<typeof DeploymentUsage>['usage'][number]

type Report = { server: string; sequence: number; usage: readonly (Hour & { deploymentId: string })[] }

/** Lists the usage of a deployment, oldest hour first. Refuses: bad_request 400 (`until` is not behind `since`). */
export async function readDeploymentUsage(
  ctx: Ctx,
  { id }: Row<'deployment'>,
  { query }: Input<Static<typeof UsageQuery>>,
): Promise<Static<typeof DeploymentUsage>> {
  const { since = ctx.now - DAY_MS, until = ctx.now + AHEAD_MS + 1 } = query
  if (until <= since) refuse('bad_request', 'Invalid request: `until` should be later than `since`.')
  // Excludes expired hours that the sweep has not removed yet, so that the list length is bounded.
  const [from, to] = [Math.max(since, ctx.now - RETENTION_MS), Math.min(until, ctx.now + AHEAD_MS + 1)]
  const rows = await ctx.db
    .selectFrom('deployment_usage')
    .selectAll()
    .where('deployment_id', '=', id)
    .where('hour', '>=', from)
    .where('hour', '<', to)
    .orderBy('hour')
    .execute()
  const functions = await ctx.db
    .selectFrom('function_usage')
    .select(({ fn }) => [
      'name',
      fn.sum('invocations').as('invocations'),
      fn.sum('errors').as('errors'),
      fn.sum('ms').as('ms'),
    ])
    .where('deployment_id', '=', id)
    .where('hour', '>=', from)
    .where('hour', '<', to)
    .groupBy('name')
    .orderBy('invocations', 'desc')
    .orderBy('name')
    .limit(MAX_FUNCTIONS)
    .execute()
  return {
    functions: functions.map(({ name, invocations, errors, ms }) => ({
      name,
      invocations: Number(invocations),
      errors: Number(errors),
      ms: Number(ms),
    })),
    usage: rows.map(({ hour, requests, bytes, ...row }) => ({
      hour,
      requests,
      statuses: { '2xx': row.status_2xx, '3xx': row.status_3xx, '4xx': row.status_4xx, '5xx': row.status_5xx },
      bytes,
    })),
  }
}

/** Adds a report. Returns false if it is a duplicate. Ignores unknown deployments, future hours, and hours older than 30 days. */
export async function addUsage(db: Queries, { server, sequence, usage }: Report, now: number): Promise<boolean> {
  if (!(await isFirstReport(db, { server, sequence }, now))) return false
  const counted = usage.filter(({ hour }) => hour >= now - RETENTION_MS && hour <= now + AHEAD_MS)
  const existing = await knownOf(db, new Set(counted.map(({ deploymentId }) => deploymentId)))
  const rows = counted.filter(({ deploymentId }) => existing.has(deploymentId)).map(rowOf)
  // Sorted, so that concurrent reports lock rows in the same order.
  rows.sort((a, b) =>
    a.deployment_id < b.deployment_id ? -1 : a.deployment_id > b.deployment_id ? 1 : a.hour - b.hour,
  )
  for (const some of chunks(rows)) await addRows(db, some)
  return true
}

/** Notes a report in its transaction. Returns false if it, or a later one of that server, was noted before. */
export async function isFirstReport(
  db: Queries,
  { server, sequence }: Pick<Report, 'server' | 'sequence'>,
  now: number,
): Promise<boolean> {
  const first = await db
    .insertInto('usage_report')
    .values({ server, sequence, expires_at: now + REPORT_RETENTION_MS })
    .onConflict((conflict) =>
      conflict
        .column('server')
        .doUpdateSet((eb) => ({ sequence: eb.ref('excluded.sequence'), expires_at: eb.ref('excluded.expires_at') }))
        .whereRef('usage_report.sequence', '<', 'excluded.sequence'),
    )
    .returning('server')
    .executeTakeFirst()
  return first !== undefined
}

async function knownOf(db: Queries, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const existing = new Set<string>()
  for (const some of chunks([...ids])) {
    const rows = await db.selectFrom('deployment').select('id').where('id', 'in', some).execute()
    for (const { id } of rows) existing.add(id)
  }
  return existing
}

function rowOf({ deploymentId, hour, requests, statuses, bytes }: Report['usage'][number]): Row<'deployment_usage'> {
  return {
    deployment_id: deploymentId,
    hour,
    requests,
    status_2xx: statuses['2xx'],
    status_3xx: statuses['3xx'],
    status_4xx: statuses['4xx'],
    status_5xx: statuses['5xx'],
    bytes,
  }
}

const COUNTS = ['requests', 'status_2xx', 'status_3xx', 'status_4xx', 'status_5xx', 'bytes'] as const

async function addRows(db: Queries, rows: readonly Row<'deployment_usage'>[]): Promise<void> {
  const sums = COUNTS.map((name) => [
    name,
    sql<number>`${sql.ref(`deployment_usage.${name}`)} + ${sql.ref(`excluded.${name}`)}`,
  ])
  await db
    .insertInto('deployment_usage')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['deployment_id', 'hour']).doUpdateSet(Object.fromEntries(sums)))
    .execute()
}

/** Deletes usage and log lines of removed deployments. */
export async function deleteUsage({ db }: Pick<OperatorCtx, 'db'>, deploymentIds: readonly string[]): Promise<void> {
  for (const some of chunks(deploymentIds))
    for (const table of ['deployment_usage', 'function_usage', 'runtime_log'] as const)
      await db.deleteFrom(table).where('deployment_id', 'in', some).execute()
}

/** Sweep: removes hours that are older than 30 days, oldest first. Returns their number. */
export async function purgeOldUsage({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, limit: number): Promise<number> {
  const old = await db
    .selectFrom('deployment_usage')
    .select(['deployment_id', 'hour'])
    .where('hour', '<', now - RETENTION_MS)
    .orderBy('hour')
    .limit(limit)
    .execute()
  for (const [hour, rows] of Map.groupBy(old, (row) => row.hour))
    for (const some of chunks(rows.map((row) => row.deployment_id)))
      await db.deleteFrom('deployment_usage').where('hour', '=', hour).where('deployment_id', 'in', some).execute()
  return old.length
}
