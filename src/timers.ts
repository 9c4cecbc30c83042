/** TABLE Timers: name, period, sweep. A sweep compares times in the tables, and is safe to repeat and on several instances at once. */

import { checkIdentities } from './accounts/single-sign-on/check.ts'
import type { Deps, OperatorCtx } from './context.ts'
import { endLostBuilds } from './delivery/builds/expiry.ts'
import { followProduction } from './delivery/crons/jobs.ts'
import { purgeCacheSizes } from './delivery/data-cache/sizes.ts'
import { purgeFunctionUsage } from './delivery/functions/function-usage.ts'
import { purgeOldLogs } from './delivery/logs/store-lines.ts'
import { purgeRunners } from './delivery/runners/registry.ts'
import { collectFiles } from './delivery/uploads/collect.ts'
import { purgeOldDeliveries } from './integrations/deliveries/deliveries.ts'
import { disableOverflowingEndpoint } from './integrations/deliveries/overflow.ts'
import { deliverDue } from './integrations/deliveries/worker.ts'
import { purgeDisabledInstallations } from './integrations/installations/disable.ts'
import { purgeOldCodes } from './integrations/oauth/codes.ts'
import { purgeEndedWebhooks, purgeHeldEndpoints } from './integrations/webhooks/held.ts'
import { runDueBackup } from './operations/backup/scheduled.ts'
import { purgeEdgeChanges } from './operations/edge/change-log.ts'
import { recordStoreSize } from './operations/statistics/store-size.ts'
import { purgeLastSeen } from './platform/access/last-seen.ts'
import { STAMPS_PER_MS } from './platform/base/clock.ts'
import { type ClockMonitor, createClockMonitor } from './platform/base/clock-monitor.ts'
import { expirySweep } from './platform/db/chunks.ts'
import { purgeIdempotencyKeys } from './platform/http/idempotency.ts'
import { purgeEndedWindows } from './platform/limiter/start.ts'
import { purgeOldMail } from './platform/mail/mail.ts'
import { CHAIN_SLICE, chainAuditEntries } from './platform/outbox/audit-chain.ts'
import { writeEvents } from './platform/outbox/outbox.ts'
import { transact } from './platform/outbox/transact.ts'
import { REWRAP_SLICE, rewrapProjectKeys } from './platform/secrets/rotation.ts'
import { expireDeployments } from './projects/deployments/expiration.ts'
import { purgeOldUsage } from './projects/deployments/usage.ts'
import { checkDomains } from './projects/domain-verification/checks.ts'
import { purgeReleasedProofs } from './projects/domain-verification/released-proof.ts'
import { purgeDeletedHistory } from './projects/env/history-log.ts'
import { advanceAliasRequests, MAPPING_SLICE } from './projects/promotion/mapping.ts'
import { completeTransfers } from './projects/transfer/job.ts'
import { purgeTransferCodes } from './projects/transfer/transfer.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const EVENTS_RETENTION_MS = 30 * 24 * HOUR_MS
/** Rows per slice, so that no transaction is long. */
const SLICE = 1000
/** Removing an installation changes many rows. */
const REMOVAL_SLICE = 10
/** Projects per slice whose deployments are checked for expiry. */
const EXPIRATION_SLICE = 20
/** Slices of a sweep in a row. Then the others have a turn: no account keeps them waiting by what it gives to one sweep. */
const TURN = 20

export const TIMERS = {
  'expired-tokens': { periodMs: HOUR_MS, sweep: expirySweep('token') },
  'ended-sessions': { periodMs: HOUR_MS, sweep: expirySweep('session') },
  'half-sign-ins': { periodMs: HOUR_MS, sweep: expirySweep('half_sign_in') },
  'old-site-sessions': { periodMs: HOUR_MS, sweep: expirySweep('site_session') },
  'spent-challenges': { periodMs: HOUR_MS, sweep: expirySweep('spent_challenge') },
  'old-password-links': { periodMs: HOUR_MS, sweep: expirySweep('password_link') },
  'old-email-changes': { periodMs: HOUR_MS, sweep: expirySweep('email_change') },
  'old-identity-links': { periodMs: HOUR_MS, sweep: expirySweep('identity_link') },
  'old-usage': { periodMs: HOUR_MS, sweep: purgeOldUsage },
  'old-function-usage': { periodMs: HOUR_MS, sweep: purgeFunctionUsage },
  'old-logs': { periodMs: HOUR_MS, sweep: purgeOldLogs },
  'old-data-cache-sizes': { periodMs: HOUR_MS, sweep: purgeCacheSizes },
  'old-usage-reports': { periodMs: HOUR_MS, sweep: expirySweep('usage_report') },
  'reserved-slugs': { periodMs: HOUR_MS, sweep: expirySweep('reserved_slug') },
  'old-invitations': { periodMs: HOUR_MS, sweep: expirySweep('invitation') },
  'old-events': { periodMs: HOUR_MS, sweep: purgeOldEvents },
  'edge-changes': { periodMs: HOUR_MS, sweep: purgeEdgeChanges },
  'deleted-variables': { periodMs: HOUR_MS, sweep: purgeDeletedHistory },
  'old-deliveries': { periodMs: HOUR_MS, sweep: purgeOldDeliveries },
  'delivery-overflow': { periodMs: 2000, sweep: disableOverflowingEndpoint, slice: 1, runsOnSuspectClock: true },
  'disabled-configurations': { periodMs: MINUTE_MS, sweep: purgeDisabledInstallations, slice: REMOVAL_SLICE },
  'held-endpoints': { periodMs: HOUR_MS, sweep: purgeHeldEndpoints },
  'ended-webhooks': { periodMs: HOUR_MS, sweep: purgeEndedWebhooks },
  'old-codes': { periodMs: HOUR_MS, sweep: purgeOldCodes },
  'kept-answers': { periodMs: HOUR_MS, sweep: purgeIdempotencyKeys },
  'long-unseen': { periodMs: HOUR_MS, sweep: purgeLastSeen },
  'old-mail': { periodMs: HOUR_MS, sweep: purgeOldMail },
  'rewrap-project-keys': {
    periodMs: MINUTE_MS,
    sweep: rewrapProjectKeys,
    slice: REWRAP_SLICE,
    runsOnSuspectClock: true,
  },
  'alias-requests': { periodMs: 2000, sweep: advanceAliasRequests, slice: MAPPING_SLICE, runsOnSuspectClock: true },
  'expired-deployments': { periodMs: 10 * MINUTE_MS, sweep: expireDeployments, slice: EXPIRATION_SLICE },
  'released-proofs': { periodMs: HOUR_MS, sweep: purgeReleasedProofs },
  'ended-rate-limits': { periodMs: MINUTE_MS, sweep: purgeEndedWindows },
  'cron-jobs': { periodMs: 2000, sweep: followProduction, slice: 20, runsOnSuspectClock: true },
  'lost-builds': { periodMs: 2000, sweep: endLostBuilds, slice: 100, runsOnSuspectClock: true },
  'old-runners': { periodMs: HOUR_MS, sweep: purgeRunners },
  'project-transfers': { periodMs: 5000, sweep: completeTransfers, slice: 1, runsOnSuspectClock: true },
  'audit-chain': { periodMs: 2000, sweep: chainAuditEntries, slice: CHAIN_SLICE, runsOnSuspectClock: true },
  'store-size': { periodMs: HOUR_MS, sweep: recordStoreSize },
  'old-transfer-codes': { periodMs: HOUR_MS, sweep: purgeTransferCodes },
  /** Sends requests, so it has a loop of its own (`startDeliveries`); listed for the operator. */
  deliveries: { run: deliverDue },
  'identity-checks': { run: checkIdentities },
  'domain-checks': { run: checkDomains },
  'scheduled-backups': { run: runDueBackup },
  /** Deletes files outside the database (`startCollection`). */
  'unused-files': { run: collectFiles },
} as const satisfies Record<string, Timer>

type Sweep = {
  periodMs: number
  sweep: (ctx: OperatorCtx, limit: number) => Promise<number>
  /** Rows per run; a full slice is followed by another run at once. */
  slice?: number
  /** It deletes nothing by age, so it also runs while the clock is suspect. All others wait. */
  runsOnSuspectClock?: true
}
/** Work outside the database, in transactions of its own. */
type Timer = Sweep | { run: (deps: Deps, now: number) => Promise<number> }

export type TimerName = keyof typeof TIMERS

/** Events are retained for 30 days, and as long as a delivery of one. */
async function purgeOldEvents(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('event')
    .select('stamp')
    .where('stamp', '<', (ctx.now - EVENTS_RETENTION_MS) * STAMPS_PER_MS)
    .where((eb) =>
      eb.not(eb.exists(eb.selectFrom('delivery').select('id').whereRef('delivery.event_stamp', '=', 'event.stamp'))),
    )
    .limit(limit)
  const rows = await ctx.db.deleteFrom('event').where('stamp', 'in', old).returning('stamp').execute()
  return rows.length
}

/** Runs one sweep to its end, as of `now`. Returns the number of rows. */
export async function runTimer(deps: Deps, name: TimerName, now: number): Promise<number> {
  const timer: Timer = TIMERS[name]
  // A drill leaves work outside the database to production.
  if ('run' in timer) return deps.config.drill ? 0 : timer.run(deps, now)
  return (await runSlices(deps, name, timer, { now, max: Number.POSITIVE_INFINITY })).swept
}

type SweepResult = { swept: number; isWhole: boolean }

/** Runs up to `max` slices of a sweep; a stop ends it between two. `isWhole`: nothing is left. */
async function runSlices(
  deps: Deps,
  name: TimerName,
  { sweep, slice = SLICE }: Sweep,
  { now, max }: { now: number; max: number },
): Promise<SweepResult> {
  let swept = 0
  for (let slices = 1; ; slices++) {
    const count = await transact(deps, { name }, async (db, begin) => {
      const { stamp, emit, outgoing } = begin()
      const actor = { kind: 'timer', id: name, tokenId: null } as const
      const dealt = await sweep({ actor, db, now, stamp, deps, emit }, slice)
      await writeEvents({ db, deps }, outgoing)
      return dealt
    })
    swept += count
    deps.metrics.counter('berth_timer_swept_total', name).value += count
    if (count < slice) {
      deps.metrics.gauge('berth_timer_last_run_timestamp_seconds', name).value = deps.clock.now() / 1000
      return { swept, isWhole: true }
    }
    if (slices >= max || deps.shutdownSignal.aborted) return { swept, isWhole: false }
  }
}

/** Starts the timers. Returns a function that stops them and waits for a running sweep. A wake-up makes a timer due at once. */
export function startTimers(deps: Deps): () => Promise<void> {
  const due = new Map<string, number>()
  const watch = createClockMonitor()
  // The first clock reading is trusted, so it happens before a jump: the first sweep runs a second later.
  watch(deps.clock.now(), performance.now())
  let running = Promise.resolve()
  let [isQueued, isStopped] = [false, false]
  const run = () => {
    if (isQueued || isStopped) return
    isQueued = true
    running = running.then(async () => {
      isQueued = false
      // What is left goes on at once, after a turn of the other sweeps.
      if (await runDue(deps, due, watch)) run()
    })
  }
  const tick = setInterval(run, 1000)
  deps.wakeups.timer = (name) => {
    due.delete(name)
    run()
  }
  return async () => {
    deps.wakeups.timer = () => {}
    isStopped = true
    clearInterval(tick)
    await running
  }
}

/** Periods use monotonic time, so that a clock set back skips no sweep. Returns whether a sweep has more to do. */
async function runDue(deps: Deps, due: Map<string, number>, watch: ClockMonitor): Promise<boolean> {
  const passed = performance.now()
  const now = deps.clock.now()
  const doubt = watch(now, passed)
  if (doubt.isNewJump)
    deps.log.warn(doubt, 'the clock jumped; rows that expire by age stay for a day, or until the clock is set back')
  let isMoreLeft = false
  for (const name of Object.keys(TIMERS) as TimerName[]) {
    if (deps.shutdownSignal.aborted) return false
    const timer: Timer = TIMERS[name]
    if ('run' in timer || (due.get(name) ?? 0) > passed || (doubt.isSuspect && !timer.runsOnSuspectClock)) continue
    due.set(name, passed + timer.periodMs)
    try {
      if ((await runSlices(deps, name, timer, { now, max: TURN })).isWhole) continue
      due.delete(name)
      isMoreLeft = true
    } catch (error) {
      deps.metrics.counter('berth_timer_failures_total', name).value++
      // An unavailable database is not an error of the sweep.
      const level = deps.db.refusalOf(error) === undefined ? 'error' : 'warn'
      deps.log[level]({ err: error, timer: name }, 'a sweep failed; it runs again in its next period')
    }
  }
  return isMoreLeft
}
