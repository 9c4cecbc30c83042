/** Reports usage every 10 seconds. Retries keep the report's number, so it counts once. docs/deploying-sites.md: Usage. */
import type { Logger } from 'pino'
import { Pool } from 'undici'
import { MAX_LINES, USAGE_PATH } from '../../delivery/protocol/usage-report.ts'
import { randomText } from '../../platform/base/ids.ts'
import type { CountedResponse } from './counted-response.ts'
import { openCounts } from './counts.ts'

export type Usage = {
  /** Counts a response for a deployment when it ends. Call it once per response, before it ends. */
  count(response: CountedResponse, deploymentId: string): void
  /** Sends pending counts. Never throws: unsent counts are retried. */
  send(): Promise<void>
  /** Stops counting and sends the rest, for a few seconds at most. */
  close(): Promise<void>
}

const PERIOD_MS = 10_000
/** Lines kept while the control plane is unavailable. */
const MAX_KEPT = 20_000
/** At this number of lines a report is sent early, once per period. */
const MANY = MAX_KEPT / 2
const CONNECT_MS = 3000
const ANSWER_MS = 10_000
const CLOSE_MS = 3000
const MAX_REASON = 200

type Report = { sequence: number; body: string }

/** Starts counting and reporting to the control plane at `origin`, with BERTH_SITES_TOKEN. `periodMs`: another period, for tests. */
export function openUsage(origin: string, token: string, log: Logger, periodMs = PERIOD_MS): Usage {
  const counts = openCounts(MAX_KEPT)
  const told = openTelling(log)
  const giveUp = new AbortController()
  const pool = new Pool(origin, { connections: 1, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const post = (report: Report) => postReport(pool, token, report, giveUp.signal)
  const send = openSending(() => counts.take(MAX_LINES), post, told)
  let isEarly = false
  const timer = setInterval(() => {
    isEarly = false
    void send()
  }, periodMs)
  function add(this: CountedResponse): void {
    const status = this.headersSent ? this.statusCode : undefined
    if (!counts.add(this.deploymentId!, { status, bytes: this.bodyBytes })) told.full()
    if (isEarly || counts.size() < MANY) return
    isEarly = true
    void send()
  }
  return {
    count(response, deploymentId) {
      response.deploymentId = deploymentId
      if (response.destroyed) add.call(response)
      else response.once('close', add)
    },
    send,
    async close() {
      clearInterval(timer)
      const end = setTimeout(() => giveUp.abort(), CLOSE_MS)
      // A report in flight at this time does not include the rest.
      await send()
      await send()
      clearTimeout(end)
      await pool.destroy()
    },
  }
}

/** Sends one report at a time until none is left or one fails. Concurrent callers share the result. */
function openSending(
  take: () => object[],
  post: (report: Report) => Promise<string | undefined>,
  told: ReturnType<typeof openTelling>,
): () => Promise<void> {
  const server = randomText(16)
  let sequence = 0
  let report: Report | undefined
  let running: Promise<void> | undefined
  const next = (): Report | undefined => {
    const usage = take()
    if (usage.length === 0) return undefined
    sequence++
    return { sequence, body: JSON.stringify({ server, sequence, usage }) }
  }
  const sendAll = async () => {
    for (report ??= next(); report !== undefined; report = next()) {
      try {
        const refused = await post(report)
        if (refused !== undefined) told.refused(refused)
      } catch (error) {
        return told.away(error)
      }
      told.taken()
    }
  }
  return () => {
    running ??= sendAll().finally(() => {
      running = undefined
    })
    return running
  }
}

/** Returns undefined if the report counted, or why it is invalid. Throws if it must be retried, also for an older control plane. */
async function postReport(
  pool: Pool,
  token: string,
  { body }: Report,
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await pool.request({
    method: 'POST',
    path: USAGE_PATH,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
    signal,
  })
  const { statusCode } = answer
  if (statusCode === 200) {
    await answer.body.dump()
    return undefined
  }
  const reason = await readStart(answer.body)
  const text = `the control plane answered ${statusCode}: ${reason}`
  if (statusCode === 400 || statusCode === 413) return text
  throw new Error(text)
}

/** Reads the start of a response, enough for a log line. */
async function readStart(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const piece of body) {
    text += piece.toString()
    if (text.length >= MAX_REASON) break
  }
  return text.slice(0, MAX_REASON).trim()
}

/** Logs each problem once until it is resolved. */
function openTelling(log: Logger) {
  let isAway = false
  let isFull = false
  return {
    taken() {
      isAway = false
      isFull = false
    },
    away(error: unknown) {
      if (!isAway) log.warn({ err: error }, 'cannot report usage to the control plane; it is kept and sent later')
      isAway = true
    },
    full() {
      if (!isFull) log.warn('too many deployments to keep their usage; requests to others are not counted')
      isFull = true
    },
    refused(reason: string) {
      log.error({ reason }, 'the control plane rejected a usage report; it is not counted')
    },
  }
}
