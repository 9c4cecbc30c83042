/** Runs cron jobs: asks the control plane for those that are due, and requests their paths. docs/functions.md: Cron jobs. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Pool } from 'undici'
import {
  CRON_LEASE_PATH,
  CRON_RESULT_PATH,
  CRONS_AT_ONCE,
  type CronResult,
  type CronRun,
  MAX_FAULT,
} from '../../delivery/protocol/cron-channel.ts'
import { withTimeLimit } from '../../platform/fairness/time-limit.ts'
import type { AskSelf, InnerRequest } from '../pictures/inner-request.ts'

const PERIOD_MS = 2000
/** A function may take 300 s, after it waited for its place. */
const LIMIT_MS = 330_000
const CONNECT_MS = 3000
const ANSWER_MS = 30_000
const TRIES = 5
/** How long a stop waits for runs to end, and then for their results to be reported. A process ends 9 s after its signal. */
const LAST_MS = 4000
const LAST_REPORT_MS = 3000

/**
 * Starts to ask the control plane at `origin`, with BERTH_SITES_TOKEN. Returns a function that stops: no further run begins, and those that take too long
 * are ended. `askSelf`: past the protection of the site. `periodMs`, `lastMs`: other times, for tests.
 */
export function startCrons(
  { origin, token, log }: { origin: string; token: string; log: Logger },
  askSelf: AskSelf,
  { periodMs = PERIOD_MS, lastMs = LAST_MS } = {},
): () => Promise<void> {
  const pool = new Pool(origin, { connections: 2, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const post = (path: string, body: string) => postTo(pool, token, path, body)
  const running = new Map<Promise<void>, string>()
  const stopping = new AbortController()
  const run = async (run: CronRun) => {
    const result = await visit(askSelf, run, stopping.signal)
    await retried(() => post(CRON_RESULT_PATH, JSON.stringify(result)), periodMs).catch((error) =>
      log.warn({ err: error, run: run.id }, 'the result of a cron job could not be reported'),
    )
  }
  let isAway = false
  const ask = async () => {
    try {
      const text = running.size < CRONS_AT_ONCE ? await post(CRON_LEASE_PATH, leaseOf(running.values())) : ''
      for (const due of text === '' ? [] : (JSON.parse(text) as { runs: CronRun[] }).runs) {
        const work = run(due).finally(() => running.delete(work))
        running.set(work, due.owner)
      }
      isAway = false
    } catch (error) {
      if (!isAway) log.warn({ err: error }, 'cannot ask the control plane for cron jobs')
      isAway = true
    }
  }
  let asking: Promise<void> | undefined
  const timer = setInterval(() => {
    asking ??= ask().finally(() => {
      asking = undefined
    })
  }, periodMs)
  const allEnded = async () => {
    await asking
    await Promise.all(running.keys())
  }
  return async () => {
    clearInterval(timer)
    await withTimeLimit(allEnded(), lastMs, undefined)
    stopping.abort()
    await withTimeLimit(allEnded(), LAST_REPORT_MS, undefined)
    await pool.destroy()
  }
}

async function retried(report: () => Promise<unknown>, pauseMs: number): Promise<void> {
  for (let left = TRIES; ; left--) {
    try {
      await report()
      return
    } catch (error) {
      if (left === 1) throw error
      await sleep(pauseMs, undefined, { ref: false })
    }
  }
}

function leaseOf(owners: Iterable<string>): string {
  const running: Record<string, number> = {}
  for (const owner of owners) running[owner] = (running[owner] ?? 0) + 1
  return JSON.stringify({ running })
}

async function postTo(pool: Pool, token: string, path: string, body: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const times = { headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS }
  const answer = await pool.request({ method: 'POST', path, headers, body, ...times })
  const text = await answer.body.text()
  if (answer.statusCode !== 200)
    throw new Error(`the control plane answered ${answer.statusCode}: ${text.slice(0, 200)}`)
  return text
}

async function visit(askSelf: AskSelf, run: CronRun, stopping: AbortSignal): Promise<CronResult> {
  const late = AbortSignal.timeout(LIMIT_MS)
  try {
    const status = await askSelf(requestOf(run), AbortSignal.any([late, stopping]), async (answer) => {
      for await (const _ of answer.body);
      return answer.status
    })
    return { id: run.id, status, fault: null }
  } catch (error) {
    // Also of a path or a secret that is not of HTTP: both are of the deployment.
    return { id: run.id, status: null, fault: endOf(late, stopping) ?? faultOf(error as Error) }
  }
}

/** What ended a run from outside, if anything did. */
function endOf(late: AbortSignal, stopping: AbortSignal): string | undefined {
  if (late.aborted) return `It took more than ${LIMIT_MS / 1000} s.`
  return stopping.aborted ? 'Its sites server was stopped.' : undefined
}

/** Applications redirect http to https, and a redirect is not followed. */
function requestOf({ isSecure = false, host, path, schedule, secret }: CronRun): InnerRequest {
  return {
    isSecure,
    host,
    path,
    headers: {
      'user-agent': 'vercel-cron/1.0',
      'x-vercel-cron-schedule': schedule,
      ...(secret !== null && { authorization: `Bearer ${secret}` }),
    },
  }
}

function faultOf(error: Error): string {
  return `The request failed: ${error.message}`.slice(0, MAX_FAULT)
}
