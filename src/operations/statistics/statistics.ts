/** Statistics of the operator's first page. docs/operations.md: Statistics. */
import { performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { OperatorCtx } from '../../context.ts'
import { MAX_LARGEST, readCacheSizes } from '../../delivery/data-cache/sizes.ts'
import { STAMPS_PER_MS } from '../../platform/base/clock.ts'
import { VERSION } from '../../platform/base/version.ts'
import { rowCount } from '../../platform/db/db.ts'
import type { Schema } from '../../platform/db/schema.ts'
import { SCAN_LIMIT } from '../../platform/http/pagination.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
const DAYS = 90
/** Upper limit of counts. */
const MOST = 10_000

/** Upper limit of counts of history. */
const MAX_HISTORY = 100_000
/** The most frequent error kinds that are shown. */
const MAX_REFUSALS = 12

const Count = Type.Integer({ description: 'of the newest 10000 accounts' })
export const Statistics = Type.Object({
  version: Type.String(),
  engine: OneOf('sqlite', 'postgres'),
  node: Type.String(),
  startedAt: Timestamp,
  users: Count,
  teams: Count,
  projects: Type.Integer({ description: 'at most 10000' }),
  store: Type.Array(Type.Object({ day: Type.String({ description: 'in UTC' }), bytes: Type.Integer() }), {
    description: 'the last 90 days on which the service ran, oldest first',
  }),
  history: Type.Object(
    {
      auditLines: Type.Integer(),
      events: Type.Integer(),
      deliveries: Type.Integer(),
      variableVersions: Type.Integer(),
    },
    { description: 'rows of history, each at most 100000' },
  ),
  dataCaches: Type.Object(
    {
      servers: Type.Integer(),
      entries: Type.Integer(),
      bytes: Type.Integer(),
      largest: Type.Array(Type.Object({ projectId: Type.String(), entries: Type.Integer(), bytes: Type.Integer() })),
    },
    { description: `what sites servers keep in data caches, and the ${MAX_LARGEST} largest projects` },
  ),
  refusals: Type.Array(Type.Object({ key: Type.String(), count: Type.Integer() }), {
    description: 'of this instance since it started, the 12 most frequent',
  }),
  deliveries: Type.Array(
    Type.Object({
      hour: Type.Integer({ description: 'the time at which it began' }),
      delivered: Type.Integer(),
      failed: Type.Integer(),
      dropped: Type.Integer(),
      pending: Type.Integer(),
    }),
    {
      description: 'the last 24 hours in which something was to be sent, oldest first; of the newest 20000 deliveries',
    },
  ),
})
type Statistics = Static<typeof Statistics>

/** Returns the statistics. docs/operations.md: Statistics. */
export async function showStatistics(ctx: OperatorCtx): Promise<Statistics> {
  const { db, deps } = ctx
  const [accounts, projects, history, store, dataCaches, deliveries] = await Promise.all([
    countAccounts(ctx),
    countProjects(ctx),
    countHistory(ctx),
    db.selectFrom('store_size').selectAll().orderBy('day', 'desc').limit(DAYS).execute(),
    readCacheSizes(db, ctx.now),
    deliveriesByHour(ctx),
  ])
  return {
    version: VERSION,
    engine: deps.db.engine,
    node: process.versions.node,
    startedAt: Math.round(performance.timeOrigin),
    ...accounts,
    projects,
    store: store.reverse(),
    history,
    dataCaches,
    refusals: deps.metrics
      .valuesByLabel('berth_refusals_total')
      .map(([key, count]) => ({ key, count }))
      .sort((a, two) => two.count - a.count)
      .slice(0, MAX_REFUSALS),
    deliveries,
  }
}

/** Counts the newest accounts only, up to the limit. */
async function countAccounts({ db }: OperatorCtx): Promise<{ users: number; teams: number }> {
  const newest = db.selectFrom('account').select('kind').orderBy('created_stamp', 'desc').limit(sql.lit(MOST))
  const rows = await db
    .selectFrom(newest.as('newest'))
    .select(['kind', sql<number>`count(*)`.as('count')])
    .groupBy('kind')
    .execute()
  const countOf = (kind: string) => Number(rows.find((row) => row.kind === kind)?.count ?? 0)
  return { users: countOf('user'), teams: countOf('team') }
}

function countProjects({ db }: OperatorCtx): Promise<number> {
  const some = db.selectFrom('project').select('id').orderBy('id').limit(sql.lit(MOST))
  return rowCount(db.selectFrom(some.as('some')))
}

async function countHistory(ctx: OperatorCtx): Promise<Statistics['history']> {
  const [auditLines, events, deliveries, variableVersions] = await Promise.all([
    countRows(ctx, 'audit', 'stamp'),
    countRows(ctx, 'event', 'id'),
    countRows(ctx, 'delivery', 'id'),
    countRows(ctx, 'env_history', 'project_id'),
  ])
  return { auditLines, events, deliveries, variableVersions }
}

/** Counts in the order of an index, up to the limit. */
async function countRows({ db }: OperatorCtx, table: keyof Schema, by: string): Promise<number> {
  const rowsOfTable = sql`select 1 as one from ${sql.table(table)} order by ${sql.ref(by)} limit ${sql.lit(MAX_HISTORY)}`
  const { rows } = await sql<{ count: number }>`select count(*) as count from (${rowsOfTable}) as counted`.execute(db)
  return Number(rows[0]!.count)
}

/** Of the newest deliveries only, because a page must not count millions. */
async function deliveriesByHour({ db, now }: OperatorCtx): Promise<Statistics['deliveries']> {
  const newest = db
    .selectFrom('delivery')
    .select(['status', sql<number>`created_stamp / ${sql.lit(HOUR_MS * STAMPS_PER_MS)}`.as('hour')])
    .where('created_stamp', '>=', (Math.floor(now / HOUR_MS) - HOURS + 1) * HOUR_MS * STAMPS_PER_MS)
    .orderBy('created_stamp', 'desc')
    .limit(sql.lit(SCAN_LIMIT))
  const rows = await db
    .selectFrom(newest.as('newest'))
    .select(['hour', 'status', sql<number>`count(*)`.as('count')])
    .groupBy(['hour', 'status'])
    .orderBy('hour')
    .execute()
  return [...Map.groupBy(rows, ({ hour }) => Number(hour))].map(([hour, found]) => {
    const countOf = (status: string) => Number(found.find((row) => row.status === status)?.count ?? 0)
    return {
      hour: hour * HOUR_MS,
      delivered: countOf('delivered'),
      failed: countOf('failed'),
      dropped: countOf('dropped'),
      pending: countOf('pending'),
    }
  })
}
