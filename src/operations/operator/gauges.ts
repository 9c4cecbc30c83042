/** Gauges of the process and the database, read when they are collected. */
import { statfs } from 'node:fs/promises'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import { type BuildFigures, readBuildFigures } from '../../delivery/builds/figures.ts'
import type { Metrics } from '../../metrics.ts'
import { droppedLines } from '../../platform/base/log.ts'
import { VERSION } from '../../platform/base/version.ts'
import type { Queries } from '../../platform/db/db.ts'
import { withTimeLimit } from '../../platform/fairness/time-limit.ts'
import { countUnlinked } from '../../platform/outbox/audit-chain.ts'
import { readKeyringCopyStatus } from '../../platform/secrets/keyring-copy.ts'
import { type BackupStatus, readBackupStatus } from '../backup/records.ts'
import { storeBytes } from '../statistics/store-size.ts'

/** A larger backlog is not counted to its end. */
const MOST = 10_000
/** An unavailable database must not block the other metrics. */
const MAX_MS = 2000
const RESOLUTION_MS = 20
const NANO = 1e9

/** Starts the gauges. Returns a function that stops them. */
export function startGauges(deps: Deps): () => void {
  const { metrics } = deps
  const stop = watchProcess(metrics)
  metrics.gauge('berth_build_info', VERSION, deps.db.engine, process.versions.node).value = 1
  metrics.onCollect(() => {
    metrics.counter('berth_log_lines_dropped_total').value = droppedLines(deps.log)
    for (const [state, count] of Object.entries(deps.db.connections?.() ?? {}))
      metrics.gauge('berth_db_connections', state).value = count
  })
  metrics.onCollect(() => readStore(deps))
  metrics.onCollect(() => readDisk(deps))
  return stop
}

function watchProcess(metrics: Metrics): () => void {
  const lag = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  lag.enable()
  let before = performance.eventLoopUtilization()
  const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / NANO - RESOLUTION_MS / 1000)
  metrics.gauge('process_start_time_seconds').value = performance.timeOrigin / 1000
  metrics.onCollect(() => {
    const cache = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    metrics.counter('process_cpu_user_seconds_total').value = user / 1e6
    metrics.counter('process_cpu_system_seconds_total').value = system / 1e6
    metrics.gauge('process_resident_memory_bytes').value = cache.rss
    metrics.gauge('nodejs_heap_size_total_bytes').value = cache.heapTotal
    metrics.gauge('nodejs_heap_size_used_bytes').value = cache.heapUsed
    metrics.gauge('nodejs_external_memory_bytes').value = cache.external
    metrics.gauge('nodejs_eventloop_lag_p50_seconds').value = seconds(lag.percentile(50))
    metrics.gauge('nodejs_eventloop_lag_p99_seconds').value = seconds(lag.percentile(99))
    metrics.gauge('nodejs_eventloop_lag_max_seconds').value = seconds(lag.max)
    lag.reset()
    const now = performance.eventLoopUtilization()
    metrics.gauge('nodejs_eventloop_utilization').value = performance.eventLoopUtilization(now, before).utilization
    before = now
  })
  return () => lag.disable()
}

/** Reads backlogs and the state of the database. On a timeout, only `berth_store_up` is reported. */
async function readStore(deps: Deps): Promise<void> {
  const { db, clock, metrics } = deps
  const now = clock.now()
  const seconds = (since: number | null) => (since === null ? 0 : Math.max(0, (now - since) / 1000))
  const counts = await inTime(
    Promise.all([
      due(db.read, 'delivery', now),
      due(db.read, 'mail', now),
      countUnlinked(db.read),
      storeBytes({ db: db.read, deps }),
      readBackupStatus(db.read, deps.config),
      readKeyringCopyStatus(db.read),
      readBuildFigures(db.read, now),
    ]),
  )
  metrics.gauge('berth_store_up').value = counts === undefined ? 0 : 1
  const [deliveries, mail, entries, bytes, backups, copies, builds] = counts ?? []
  metrics.gauge('berth_deliveries_due').value = deliveries?.count ?? Number.NaN
  metrics.gauge('berth_deliveries_oldest_seconds').value = deliveries ? seconds(deliveries.oldest) : Number.NaN
  metrics.gauge('berth_mail_due').value = mail?.count ?? Number.NaN
  metrics.gauge('berth_mail_oldest_seconds').value = mail ? seconds(mail.oldest) : Number.NaN
  metrics.gauge('berth_audit_unlinked').value = entries ?? Number.NaN
  metrics.gauge('berth_store_bytes').value = bytes ?? Number.NaN
  metrics.gauge('berth_keyring_copy_verified').value = copies ? Number(copies.missing.length === 0) : Number.NaN
  tellBackups(metrics, backups)
  tellBuilds(metrics, builds, seconds)
}

function tellBuilds(
  metrics: Metrics,
  figures: BuildFigures | undefined,
  seconds: (since: number | null) => number,
): void {
  metrics.gauge('berth_builds_waiting').value = figures?.waiting ?? Number.NaN
  metrics.gauge('berth_builds_oldest_seconds').value = figures ? seconds(figures.oldest) : Number.NaN
  metrics.gauge('berth_builds_running').value = figures?.running ?? Number.NaN
  for (const state of ['active', 'draining'] as const)
    metrics.gauge('berth_runners', state).value = figures?.runners[state] ?? Number.NaN
}

/** A missing time is 0, so that a rule on its age needs no second condition. */
function tellBackups(metrics: Metrics, state: BackupStatus | undefined): void {
  const moment = (at: number | null) => (at ?? 0) / 1000
  metrics.gauge('berth_backup_last_good_timestamp_seconds').value = state ? moment(state.lastGood) : Number.NaN
  metrics.gauge('berth_backup_last_verified_timestamp_seconds').value = state ? moment(state.lastVerified) : Number.NaN
  metrics.gauge('berth_backup_failed').value = state ? Number(state.failed !== null) : Number.NaN
  metrics.gauge('berth_backups_damaged').value = state?.damaged ?? Number.NaN
}

async function readDisk({ config, metrics }: Deps): Promise<void> {
  const disk = await inTime(statfs(config.dataDirectory))
  metrics.gauge('berth_disk_free_bytes').value = disk ? disk.bavail * disk.bsize : Number.NaN
}

/** Undefined on failure or timeout. */
function inTime<T>(request: Promise<T>): Promise<T | undefined> {
  return withTimeLimit(request, MAX_MS, undefined).catch(() => undefined)
}

async function due(db: Queries, table: 'delivery' | 'mail', now: number) {
  const some = db.selectFrom(table).select('due_at').where('due_at', '<=', now).limit(MOST)
  // The index of deliveries covers pending ones only.
  const counted = table === 'delivery' ? some.where(sql<boolean>`status = 'pending'`) : some
  return db
    .selectFrom(counted.as('some'))
    .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(due_at)`.as('oldest')])
    .executeTakeFirstOrThrow()
}
