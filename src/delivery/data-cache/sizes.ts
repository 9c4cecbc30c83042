/** What sites servers keep in the data caches of projects, as they report it. docs/data-cache.md: Size. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { isFirstReport } from '../../projects/deployments/usage.ts'
import { type CacheReport, RENEWED_MS } from '../protocol/usage-report.ts'

/** A size counts for as long as its sites server may miss one renewal. */
const KEPT_MS = 2.5 * RENEWED_MS
/** The largest projects that an operator is shown. */
export const MAX_LARGEST = 10
/** Rows that are added up for an operator. */
const MAX_ROWS = 100_000

type Size = { entries: number; bytes: number }
/** `servers`: that keep any. `reportedAt`: the last report of one of them; null where none keeps any. */
export type ProjectCacheSize = Size & {
  servers: number
  reportedAt: number | null
  environments: (Size & { environment: string })[]
}

/** Stores the sizes of a report, or forgets those of a sites server that stops. Ignores unknown projects and repeated reports. */
export async function storeCacheSizes(db: Queries, report: CacheReport, now: number): Promise<void> {
  const { server, caches } = report
  if (!(await isFirstReport(db, report, now))) return
  if (report.ended) await db.deleteFrom('data_cache_size').where('server', '=', server).execute()
  const existing = await knownOf(db, new Set(caches.map(({ projectId }) => projectId)))
  const rows = caches
    .filter(({ projectId }) => existing.has(projectId))
    .map(({ projectId, ...size }) => ({ server, project_id: projectId, ...size, reported_at: now }))
  for (const some of chunks(rows)) await putRows(db, some)
}

async function knownOf(db: Queries, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const existing = new Set<string>()
  for (const some of chunks([...ids])) {
    const rows = await db.selectFrom('project').select('id').where('id', 'in', some).execute()
    for (const { id } of rows) existing.add(id)
  }
  return existing
}

async function putRows(db: Queries, rows: readonly Row<'data_cache_size'>[]): Promise<void> {
  await db
    .insertInto('data_cache_size')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['server', 'project_id', 'environment']).doUpdateSet((eb) => ({
        entries: eb.ref('excluded.entries'),
        bytes: eb.ref('excluded.bytes'),
        reported_at: eb.ref('excluded.reported_at'),
      })),
    )
    .execute()
}

/** Adds up what all sites servers keep of a project, largest environment first. */
export async function readCacheSize(db: Queries, projectId: string, now: number): Promise<ProjectCacheSize> {
  const rows = await keptSizes(db, now).selectAll().where('project_id', '=', projectId).execute()
  const environments = [...Map.groupBy(rows, ({ environment }) => environment)]
    .map(([environment, own]) => ({ environment, ...sumOf(own) }))
    .sort((a, b) => b.bytes - a.bytes)
  return {
    ...sumOf(rows),
    servers: new Set(rows.map(({ server }) => server)).size,
    reportedAt: rows.length === 0 ? null : Math.max(...rows.map((row) => row.reported_at)),
    environments,
  }
}

function sumOf(sizes: readonly Size[]): Size {
  const sum = (name: keyof Size) => sizes.reduce((total, size) => total + size[name], 0)
  return { entries: sum('entries'), bytes: sum('bytes') }
}

/** Adds up what all sites servers keep, and names the largest projects. */
export async function readCacheSizes(db: Queries, now: number) {
  const some = keptSizes(db, now).selectAll().limit(sql.lit(MAX_ROWS))
  const sizes = db
    .selectFrom(some.as('some'))
    .select(({ fn }) => [fn.sum<number>('entries').as('entries'), fn.sum<number>('bytes').as('bytes')])
  const total = await sizes.select(({ fn }) => fn.count<number>('server').distinct().as('servers')).executeTakeFirst()
  const ofProjects = sizes.select('project_id').groupBy('project_id').orderBy('bytes', 'desc').orderBy('project_id')
  const largest = await ofProjects.limit(MAX_LARGEST).execute()
  const numbers = (row?: Size) => ({ entries: Number(row?.entries ?? 0), bytes: Number(row?.bytes ?? 0) })
  return {
    servers: Number(total?.servers ?? 0),
    ...numbers(total),
    largest: largest.map((row) => ({ projectId: row.project_id, ...numbers(row) })),
  }
}

/** Without what is empty, and what a sites server that was killed had reported. */
function keptSizes(db: Queries, now: number) {
  return db
    .selectFrom('data_cache_size')
    .where('reported_at', '>', now - KEPT_MS)
    .where('entries', '>', 0)
}

/** Sweep: removes sizes that were not renewed, oldest first. Returns their number. */
export async function purgeCacheSizes({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, limit: number): Promise<number> {
  const cutoff = now - KEPT_MS
  const oldOnes = db.selectFrom('data_cache_size').select(['server', 'project_id']).where('reported_at', '<=', cutoff)
  const old = await oldOnes.orderBy('reported_at').limit(limit).execute()
  for (const [server, rows] of Map.groupBy(old, (row) => row.server))
    for (const some of chunks(rows.map((row) => row.project_id)))
      await db
        .deleteFrom('data_cache_size')
        .where('server', '=', server)
        .where('project_id', 'in', some)
        .where('reported_at', '<=', cutoff)
        .execute()
  return old.length
}
