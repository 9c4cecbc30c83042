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
import { type Head, orderHeads } from './schedule.ts'

type QueueCtx = Pick<OperatorCtx, 'db' | 'now'>

/** A lease, as its holder names it. */
export type Holder = { deploymentId: string; attempt: number; token: string }

/** `cancel_requested`: the lease holds, and the deployment has ended. */
export type Outcome = 'ok' | 'lease_lost' | 'cancel_requested'

/** Leases the next build to a runner, in a transaction. Undefined: none may start now. */
export async function acquireBuild(
  { db, now }: QueueCtx,
  runner: string,
  limits: { perAccount: number },
): Promise<{ build: Row<'build'>; token: string } | undefined> {
  for (const { deploymentId } of orderHeads(await readHeads(db), limits)) {
    const token = randomText(40)
    const build = await leaseTo(db, deploymentId, runner, token, now)
    if (build !== undefined) return { build, token }
  }
  return undefined
}

type HeadRow = Pick<Row<'build'>, 'deployment_id' | 'account_id' | 'owner_id' | 'is_production' | 'queued_at'> & {
  account_started: number | null
  owner_started: number | null
}

/** One build of each account that waits, however many wait behind it: the index `build_head` is read at one place for each account. */
async function readHeads(db: Queries): Promise<Head[]> {
  const { rows } = await sql<HeadRow>`with recursive waiting (account_id) as (
    select min(account_id) from build where state = 'waiting'
    union all
    select (select min(next.account_id) from build as next where next.state = 'waiting' and next.account_id > waiting.account_id)
      from waiting where waiting.account_id is not null
  )
  select head.deployment_id, head.account_id, head.owner_id, head.is_production, head.queued_at,
    (select max(started_at) from build as started where started.account_id = head.account_id) as account_started,
    (select max(started_at) from build as started where started.owner_id = head.owner_id) as owner_started
  from waiting join build as head on head.deployment_id = (
    select first.deployment_id from build as first
    where first.state = 'waiting' and first.account_id = waiting.account_id
    order by first.is_production desc, first.queued_at, first.deployment_id limit 1
  )`.execute(db)
  const running = await db
    .selectFrom('build')
    .select(['account_id', 'owner_id'])
    .where(sql<boolean>`state = 'leased'`)
    .execute()
  const ofAccount = countBy(running.map((row) => row.account_id))
  const ofOwner = countBy(running.map((row) => row.owner_id))
  return rows.map((row) => ({
    deploymentId: row.deployment_id,
    accountId: row.account_id,
    isProduction: Number(row.is_production) === 1,
    queuedAt: Number(row.queued_at),
    account: { running: ofAccount.get(row.account_id) ?? 0, lastStartedAt: Number(row.account_started ?? 0) },
    owner: { running: ofOwner.get(row.owner_id) ?? 0, lastStartedAt: Number(row.owner_started ?? 0) },
  }))
}

function countBy(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
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

/** Releases a lease that its runner never received: the build waits again at its place, and the attempt does not count. */
export async function giveBack({ db, now }: QueueCtx, holder: Holder): Promise<void> {
  const build = await db
    .updateTable('build')
    .set({
      state: 'waiting',
      attempt: sql<number>`attempt - 1`,
      runner: null,
      token_hash: null,
      lease_until: null,
      started_at: null,
    })
    .where(isHeldBy(holder))
    .where('cancel_requested', '=', 0)
    .returningAll()
    .executeTakeFirst()
  if (build !== undefined) await moveDeployment({ db, now }, build, 'INITIALIZING', 'lease_expired')
}

/** The build of a holder, if the lease is theirs. */
export async function findLease(db: Queries, holder: Holder): Promise<Row<'build'> | undefined> {
  return db.selectFrom('build').selectAll().where(isHeldBy(holder)).executeTakeFirst()
}

/** Whether the build of a holder has ended by their report. A lease that is lost keeps no token. */
export async function endedByReport(db: Queries, { deploymentId, attempt, token }: Holder): Promise<boolean> {
  const build = await db
    .selectFrom('build')
    .select('deployment_id')
    .where('deployment_id', '=', deploymentId)
    .where('attempt', '=', attempt)
    .where('token_hash', '=', fingerprint(token))
    .where('state', '=', 'ended')
    .executeTakeFirst()
  return build !== undefined
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
