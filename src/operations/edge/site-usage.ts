/** Ingests reports of sites servers: usage, data caches, log lines and purges of functions. docs/deploying-sites.md: Usage; docs/functions.md: Log. */
import type { IncomingMessage } from 'node:http'
import type { Deps } from '../../context.ts'
import { leaseRuns, recordResult } from '../../delivery/crons/runs.ts'
import { storeCacheSizes } from '../../delivery/data-cache/sizes.ts'
import { storeUsage } from '../../delivery/functions/function-usage.ts'
import { storeReport } from '../../delivery/logs/store-lines.ts'
import {
  type CronRun,
  MAX_LEASE_BYTES,
  MAX_RESULT_BYTES,
  readCronLease,
  readCronResult,
} from '../../delivery/protocol/cron-channel.ts'
import { MAX_LOG_BYTES, readLogReport } from '../../delivery/protocol/log-report.ts'
import { MAX_PURGE_BYTES, readPurgeReport } from '../../delivery/protocol/purge-channel.ts'
import { MAX_REPORT_BYTES, readCacheReport, readUsageReport } from '../../delivery/protocol/usage-report.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { runsFunctions } from '../../platform/settings/functions.ts'
import { closing, json, plain } from '../../platform/verdict/plain-answer.ts'
import { readShortBody } from '../../platform/verdict/short-body.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { purgeByFunction } from '../../projects/projects/cache.ts'

/**
 * Handles a POST of a report: 200 once counted, also when repeated; 400 when malformed, 413 when too long, 503 when the database is unavailable. Call
 * it in the same event loop turn as the request, before parts of the body are lost.
 */
export async function answerReport(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  request: IncomingMessage,
): Promise<EdgeResponse> {
  const of = { what: 'usage', max: MAX_REPORT_BYTES, read: readUsageReport }
  return take(db, request, of, (report) => db.write((tx) => storeUsage(tx, report, clock.now())))
}

/** As `answerReport`, for sizes of data caches. */
export async function answerCacheReport(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  request: IncomingMessage,
): Promise<EdgeResponse> {
  const of = { what: 'data caches', max: MAX_REPORT_BYTES, read: readCacheReport }
  return take(db, request, of, (report) => db.write((tx) => storeCacheSizes(tx, report, clock.now())))
}

/** As `answerReport`, for log lines of functions. */
export async function answerLogReport(deps: Deps, request: IncomingMessage): Promise<EdgeResponse> {
  const of = { what: 'log lines', max: MAX_LOG_BYTES, read: readLogReport }
  return take(deps.db, request, of, (report) => storeReport(deps, report))
}

/** Answers with runs of cron jobs that are due; none where functions are off. */
export async function answerCronLease(deps: Deps, request: IncomingMessage): Promise<EdgeResponse> {
  const of = { what: 'cron jobs', max: MAX_LEASE_BYTES, read: readCronLease }
  let runs: CronRun[] = []
  const answer = await take(deps.db, request, of, async (lease) => {
    if (runsFunctions(deps.config.functions)) runs = await leaseRuns(deps, lease)
  })
  return answer.status === 200 ? json(200, { runs }) : answer
}

/** Takes the result of a run of a cron job. */
export async function answerCronResult(deps: Deps, request: IncomingMessage): Promise<EdgeResponse> {
  const of = { what: 'a cron job', max: MAX_RESULT_BYTES, read: readCronResult }
  return take(deps.db, request, of, (result) => recordResult(deps, result))
}

/** Takes a purge by a function. Answers with the purges of its project, as the snapshot has them; 404 where it is gone. */
export async function answerPurge({ db }: Pick<Deps, 'db'>, request: IncomingMessage): Promise<EdgeResponse> {
  const of = { what: 'a purge', max: MAX_PURGE_BYTES, read: readPurgeReport }
  let purges: string | undefined
  const answer = await take(db, request, of, async (purge) => {
    purges = await db.write((tx) => purgeByFunction(tx, purge))
  })
  if (answer.status !== 200) return answer
  if (purges === undefined) return plain(404, 'The project does not exist.')
  return json(200, purges)
}

type Kind<R> = { what: string; max: number; read: (text: string) => R | { sentence: string } }

async function take<R extends object>(
  db: Deps['db'],
  request: IncomingMessage,
  { what, max, read }: Kind<R>,
  store: (report: R) => Promise<unknown>,
): Promise<EdgeResponse> {
  if (request.method !== 'POST') return plain(405, `A report of ${what} is sent with POST.`, { allow: 'POST' })
  const text = await readShortBody(request, max)
  if (text === undefined) return closing(plain(413, `A report of ${what} has at most ${max} bytes.`))
  const report = read(text)
  if ('sentence' in report) return plain(400, report.sentence)
  try {
    await store(report)
  } catch (error) {
    // The sites server retries.
    if (db.refusalOf(error) === undefined && !(error instanceof Refusal)) throw error
    return plain(503, 'The database is unavailable. Send it again.', { 'retry-after': '1' })
  }
  return plain(200, 'counted')
}
