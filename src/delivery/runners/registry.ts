/** Runners that asked for builds, and which of them get some. docs/runner.md: Drain and remove. */
import { sql } from 'kysely'
import type { Deps, OperatorCtx } from '../../context.ts'
import { type Queries, rowCount } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import type { LeaseRequest } from '../protocol/runner-protocol.ts'

/** TABLE times of a runner in milliseconds. */
export const RUNNER_TIMES = {
  /** Between two writes of `last_seen_at`: a runner asks once for each build that it could run. */
  writeMs: 10_000,
  /** A runner without a request for this time is gone: an idle one asks every 15 s. */
  goneMs: 120_000,
  /** The row of one that is gone is kept for this time. */
  retentionMs: 24 * 3_600_000,
} as const

export const MAX_RUNNERS = 500

export type RunnerState = 'active' | 'draining' | 'removed'

/** Records a request for a build. `full`: 500 other runners asked in the last two minutes. */
export async function recordRunner(deps: Deps, request: LeaseRequest): Promise<RunnerState | 'full'> {
  const now = deps.clock.now()
  const existing = await rowOf(deps.db.read, request.runner)
  if (existing !== undefined && now - Number(existing.last_seen_at) < RUNNER_TIMES.writeMs) return stateOf(existing)
  return deps.db.write(async (tx) => {
    const row = await tx
      .updateTable('runner')
      .set({ last_seen_at: now })
      .where('name', '=', request.runner)
      .returningAll()
      .executeTakeFirst()
    if (row !== undefined) return stateOf(row)
    if (!(await hasPlace(tx, now))) return 'full'
    const { runner: name, hostname, version } = request
    const seen = { first_seen_at: now, last_seen_at: now, drained_at: null, removed_at: null }
    await tx
      .insertInto('runner')
      .values({ name, hostname: printable(hostname), version: printable(version), ...seen })
      .execute()
    return 'active'
  })
}

/** Whether a runner may get a lease. Ask in the transaction that leases: a drain at the same time comes before or after it. */
export async function takesBuilds(db: Queries, name: string): Promise<boolean> {
  const row = await rowOf(db, name)
  return row === undefined || stateOf(row) === 'active'
}

/** Returns what the operator decided about a runner. */
export function stateOf({ removed_at, drained_at }: Pick<Row<'runner'>, 'removed_at' | 'drained_at'>): RunnerState {
  if (removed_at !== null) return 'removed'
  return drained_at === null ? 'active' : 'draining'
}

function rowOf(db: Queries, name: string): Promise<Row<'runner'> | undefined> {
  return db.selectFrom('runner').selectAll().where('name', '=', name).executeTakeFirst()
}

/** Makes place for a new runner: of those that are gone and have no build, the one for the longest time goes. */
async function hasPlace(db: Queries, now: number): Promise<boolean> {
  if ((await rowCount(db.selectFrom('runner'))) < MAX_RUNNERS) return true
  const removed = await withoutBuilds(db)
    .where('last_seen_at', '<', now - RUNNER_TIMES.goneMs)
    .orderBy('last_seen_at')
    .limit(1)
    .executeTakeFirst()
  if (removed === undefined) return false
  await db.deleteFrom('runner').where('name', '=', removed.name).execute()
  return true
}

/** Deletes runners a day after their last request. */
export async function purgeRunners({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, limit: number): Promise<number> {
  const old = withoutBuilds(db)
    .where('last_seen_at', '<', now - RUNNER_TIMES.retentionMs)
    .limit(limit)
  const rows = await db.deleteFrom('runner').where('name', 'in', old).returning('name').execute()
  return rows.length
}

function withoutBuilds(db: Queries) {
  return db
    .selectFrom('runner')
    .select('name')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('build')
            .select('build.deployment_id')
            .whereRef('build.runner', '=', 'runner.name')
            .where(sql<boolean>`build.state = 'leased'`),
        ),
      ),
    )
}

/** PostgreSQL stores no NUL, and a terminal obeys control characters. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}
