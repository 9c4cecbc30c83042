/**
 * The queue of builds in the database. Every write of a lease holder names (deployment, attempt, token) in its statement, so a stale
 * holder changes nothing. docs/building.md: Leases.
 */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { refreshDeploymentSummary } from '../../model/deployment-summary.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { ReadyState } from '../../platform/db/deployment-tables.ts'
import type { Row } from '../../platform/db/schema.ts'
import { type DeploymentEvent, nextState } from '../deploys/states.ts'
import { LEASE_TIMES } from '../protocol/runner-protocol.ts'
import { type AccountLoad, chooseBuild, type WaitingBuild } from './schedule.ts'

type QueueCtx = Pick<OperatorCtx, 'db' | 'now'>

/** A lease, as its holder names it. */
export type Holder = { deploymentId: string; attempt: number; token: string }

/** `cancel_requested`: the lease holds, and the deployment has ended. */
export type Outcome = 'ok' | 'lease_lost' | 'cancel_requested'

/** Waiting builds that a choice looks at, oldest first. */
const MOST_LOOKED_AT = 2000

/** Leases the next build to a runner, in a transaction. Undefined: none may start now. */
export async function acquireBuild(
  { db, now }: QueueCtx,
  runner: string,
  limits: { perAccount: number },
): Promise<{ build: Row<'build'>; token: string } | undefined> {
  for (let waiting = await waitingBuilds(db); waiting.length > 0; ) {
    const chosen = chooseBuild(waiting, await loadsOf(db, waiting), limits)
    if (chosen === undefined) return undefined
    const token = randomText(40)
    const build = await leaseTo(db, chosen.deploymentId, runner, token, now)
    if (build !== undefined) return { build, token }
    waiting = waiting.filter((one) => one !== chosen)
  }
  return undefined
}

async function waitingBuilds(db: Queries): Promise<WaitingBuild[]> {
  const rows = await db
    .selectFrom('build')
    .select(['deployment_id', 'account_id', 'is_production', 'queued_at'])
    .where(sql<boolean>`state = 'waiting'`)
    .orderBy('queued_at')
    .limit(MOST_LOOKED_AT)
    .execute()
  return rows.map((row) => ({
    deploymentId: row.deployment_id,
    accountId: row.account_id,
    isProduction: row.is_production === 1,
    queuedAt: Number(row.queued_at),
  }))
}

async function loadsOf(db: Queries, waiting: readonly WaitingBuild[]): Promise<Map<string, AccountLoad>> {
  const running = await db
    .selectFrom('build')
    .select(['account_id', sql<number>`count(*)`.as('running')])
    .where(sql<boolean>`state = 'leased'`)
    .groupBy('account_id')
    .execute()
  const counts = new Map(running.map((row) => [row.account_id, Number(row.running)]))
  const loads = new Map<string, AccountLoad>()
  for (const accountId of new Set(waiting.map((one) => one.accountId))) {
    const last = await db
      .selectFrom('build')
      .select(({ fn }) => fn.max<number | null>('started_at').as('at'))
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow()
    loads.set(accountId, { running: counts.get(accountId) ?? 0, lastStartedAt: Number(last.at ?? 0) })
  }
  return loads
}

async function leaseTo(db: Queries, deploymentId: string, runner: string, token: string, now: number) {
  const build = await db
    .updateTable('build')
    .set({
      state: 'leased',
      attempt: sql<number>`attempt + 1`,
      runner,
      token_hash: fingerprint(token),
      lease_until: now + LEASE_TIMES.leaseMs,
      started_at: now,
      log_acknowledged: 0,
    })
    .where('deployment_id', '=', deploymentId)
    .where('state', '=', 'waiting')
    .returningAll()
    .executeTakeFirst()
  if (build === undefined) return undefined
  await moveDeployment({ db, now }, build, 'QUEUED', 'lease_acquired')
  return build
}

/** The build of a holder, if the lease is theirs. */
export async function findLease(db: Queries, holder: Holder): Promise<Row<'build'> | undefined> {
  return db.selectFrom('build').selectAll().where(isHeldBy(holder)).executeTakeFirst()
}

/** The condition of every statement of a holder. */
export function isHeldBy({ deploymentId, attempt, token }: Holder) {
  return sql<boolean>`build.deployment_id = ${deploymentId} and build.attempt = ${attempt}
    and build.token_hash = ${fingerprint(token)} and build.state = 'leased'`
}

/** Renews a lease. Returns its outcome, and the lines of its log that are stored. */
export async function renewLease(
  { db, now }: QueueCtx,
  holder: Holder,
): Promise<{ outcome: Outcome; acknowledged: number; build: Row<'build'> | undefined }> {
  const build = await db
    .updateTable('build')
    .set({ lease_until: now + LEASE_TIMES.leaseMs })
    .where(isHeldBy(holder))
    .returningAll()
    .executeTakeFirst()
  return { outcome: outcomeOf(build), acknowledged: Number(build?.log_acknowledged ?? 0), build }
}

/** Ends the build of a holder. The caller changes the deployment in the same transaction, where the outcome is `ok`. */
export async function completeBuild(
  { db, now }: QueueCtx,
  holder: Holder,
): Promise<{ outcome: Outcome; build: Row<'build'> | undefined }> {
  const build = await db
    .updateTable('build')
    .set({ state: 'ended', ended_at: now, lease_until: null })
    .where(isHeldBy(holder))
    .returningAll()
    .executeTakeFirst()
  return { outcome: outcomeOf(build), build }
}

function outcomeOf(row: Pick<Row<'build'>, 'cancel_requested'> | undefined): Outcome {
  if (row === undefined) return 'lease_lost'
  return row.cancel_requested === 1 ? 'cancel_requested' : 'ok'
}

/** Applies an event to a deployment in this state. One in another state stays: it has ended, or the event is late. */
export async function moveDeployment(
  { db, now }: QueueCtx,
  build: Pick<Row<'build'>, 'deployment_id' | 'project_id'>,
  from: ReadyState,
  event: DeploymentEvent,
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('deployment')
    .set(nextState(from, event, now)!)
    .where('id', '=', build.deployment_id)
    .where('ready_state', '=', from)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await refreshDeploymentSummary({ db }, build.project_id)
}
