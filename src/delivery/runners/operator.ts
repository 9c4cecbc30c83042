/** What the operator sees of runners and does to them. docs/runner.md: Drain and remove. */
import { sql } from 'kysely'
import type { Static } from 'typebox'
import type { Input, OperatorCtx, Params } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { LEASE_TIMES } from '../protocol/runner-protocol.ts'
import { MAX_RUNNERS, stateOf } from './registry.ts'

/** Builds that are read: far more than machines run at once. */
const MAX_BUILDS = 5000
/** Of one runner. */
const MAX_NAMED = 20

export const Runner = Type.Object(
  {
    id: Type.String({ description: 'the random name of the process' }),
    hostname: Type.String(),
    version: Type.String(),
    state: OneOf('active', 'draining', 'removed'),
    builds: Type.Integer({ description: 'how many it runs' }),
    deployments: Type.Array(Type.String(), { description: 'what it builds: the first 20' }),
    firstSeenAt: Timestamp,
    lastSeenAt: Timestamp,
  },
  { title: 'Runner' },
)
export type Runner = Static<typeof Runner>

export const RunnerList = Type.Object({ runners: Type.Array(Runner) })

export const PatchRunner = Type.Object({
  draining: Type.Boolean({ description: 'true: it gets no further build' }),
})
type PatchRunner = Static<typeof PatchRunner>

/** Lists runners, the one that asked last first. A removed one is listed only if it asked again since. */
export async function listRunners(ctx: OperatorCtx): Promise<{ runners: Runner[] }> {
  const rows = await ctx.db.selectFrom('runner').selectAll().limit(MAX_RUNNERS).execute()
  const asking = rows.filter((row) => row.removed_at === null || Number(row.last_seen_at) > Number(row.removed_at))
  const builds = await buildsByRunner(ctx)
  const runners = asking.map((row) => showRunner(row, builds.get(row.name) ?? []))
  return { runners: runners.sort((a, b) => b.lastSeenAt - a.lastSeenAt) }
}

/** Returns a runner that is not removed. Refuses: not_found 404. */
export async function findRunner({ db }: OperatorCtx, { runner = '' }: Params): Promise<Row<'runner'>> {
  const row = await db.selectFrom('runner').selectAll().where('name', '=', runner).executeTakeFirst()
  if (row === undefined || row.removed_at !== null)
    refuse('not_found', 'No such runner. GET /operator/v1/runners lists them.')
  return row
}

/** Drains a runner, or resumes it. The builds that it runs go on. */
export async function updateRunner(
  ctx: OperatorCtx,
  runner: Row<'runner'>,
  { body }: Input<unknown, PatchRunner>,
): Promise<Runner> {
  const row = await ctx.db
    .updateTable('runner')
    .set({ drained_at: body.draining ? (runner.drained_at ?? ctx.now) : null })
    .where('name', '=', runner.name)
    .returningAll()
    .executeTakeFirstOrThrow()
  return showRunner(row, (await buildsByRunner(ctx)).get(row.name) ?? [])
}

/** Removes a runner: its leases are lost at once, and the sweep `lost-builds` puts its builds back into the queue. */
export async function removeRunner({ db, now }: OperatorCtx, { name }: Row<'runner'>): Promise<void> {
  await db.updateTable('runner').set({ removed_at: now }).where('name', '=', name).execute()
  await db
    .updateTable('build')
    .set({ token_hash: null, lease_until: 0 })
    .where('runner', '=', name)
    .where(sql<boolean>`state = 'leased'`)
    .execute()
}

type Leased = Pick<Row<'build'>, 'deployment_id' | 'runner' | 'lease_until'>

async function buildsByRunner({ db }: OperatorCtx): Promise<Map<string | null, Leased[]>> {
  const rows: Leased[] = await db
    .selectFrom('build')
    .select(['deployment_id', 'runner', 'lease_until'])
    .where(sql<boolean>`state = 'leased'`)
    .orderBy('started_at')
    .limit(MAX_BUILDS)
    .execute()
  return Map.groupBy(rows, ({ runner }) => runner)
}

function showRunner(row: Row<'runner'>, builds: readonly Leased[]): Runner {
  // A runner whose every lane builds asks for nothing, and its beats renew its leases.
  const beats = builds.map(({ lease_until }) => Number(lease_until) - LEASE_TIMES.leaseMs)
  return {
    id: row.name,
    hostname: row.hostname,
    version: row.version,
    state: stateOf(row),
    builds: builds.length,
    deployments: builds.slice(0, MAX_NAMED).map(({ deployment_id }) => deployment_id),
    firstSeenAt: Number(row.first_seen_at),
    lastSeenAt: Math.max(Number(row.last_seen_at), ...beats),
  }
}
