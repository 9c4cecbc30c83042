/**
 * Tells the control plane what deployments answered, every 10 seconds. A report is sent until it is taken, under the same number, so it counts once; what
 * comes meanwhile is counted for the next. docs/deploying-sites.md: Usage.
 */
import type { Logger } from 'pino'
import { Pool } from 'undici'
import { MAX_LINES, USAGE_PATH } from '../../delivery/protocol/usage-report.ts'
import { randomText } from '../../platform/base/ids.ts'
import type { CountedResponse } from './counted-response.ts'
import { openCounts } from './counts.ts'

export type Usage = {
  /** Counts a response for a deployment, once it has ended. To be called once for each, before that. */
  count(response: CountedResponse, deploymentId: string): void
  /** Sends what there is now. It never throws: what is not taken is sent later. */
  send(): Promise<void>
  /** Sends the rest, for a few seconds at most. Nothing is counted from now on. */
  close(): Promise<void>
}

const PERIOD_MS = 10_000
/** Deployments in an hour that are kept while the control plane is away. */
const MAX_KEPT = 20_000
/** With so many it is sent before its time, once in a period. */
const MANY = MAX_KEPT / 2
const CONNECT_MS = 3000
const ANSWER_MS = 10_000
const CLOSE_MS = 3000
const MAX_REASON = 200

/** A report, as it is sent each time. */
type Report = { sequence: number; body: string }

/** Begins to count. Asks the listener of a control plane at `origin`, with BERTH_SITES_TOKEN. `periodMs`: another period, for tests. */
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
      // What was under way when this began does not have the rest yet.
      await send()
      await send()
      clearTimeout(end)
      await pool.destroy()
    },
  }
}

/** One sending at a time: a report after the other, until nothing is left or one is not taken. Whoever asks meanwhile waits for the same. */
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

/** Undefined: it counts. A sentence: it is none, now or ever. Throws where it is to be sent again: also to an older control plane, which knows no usage. */
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

/** The beginning of an answer: enough for a line of the log. */
async function readStart(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const piece of body) {
    text += piece.toString()
    if (text.length >= MAX_REASON) break
  }
  return text.slice(0, MAX_REASON).trim()
}

/** Says each trouble once, until it is over. */
function openTelling(log: Logger) {
  let isAway = false
  let isFull = false
  return {
    taken() {
      isAway = false
      isFull = false
    },
    away(error: unknown) {
      if (!isAway)
        log.warn({ err: error }, 'the control plane does not take the usage of sites: it is kept and sent later')
      isAway = true
    },
    full() {
      if (!isFull) log.warn('more deployments are visited than usage is kept of: their requests are not counted')
      isFull = true
    },
    refused(reason: string) {
      log.error({ reason }, 'the control plane refused a report of usage: what it says is not counted')
    },
  }
}
