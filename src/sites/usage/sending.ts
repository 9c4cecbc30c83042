/** Sends reports to the control plane, one at a time. Retries keep the report's number, so it counts once. docs/deploying-sites.md: Usage. */
import type { Logger } from 'pino'
import { Pool } from 'undici'
import { randomText } from '../../platform/base/ids.ts'

/**
 * `next`: the fields of the next report; undefined where nothing is to be sent. `away`, `refused`: what is logged, where the control plane does not
 * answer and where a report is lost. `onTaken`: a report counts.
 */
type Options = {
  origin: string
  token: string
  path: string
  next: () => object | undefined
  log: Logger
  away: string
  refused: string
  onTaken?: () => void
}

export type Sending = {
  /** Sends all that is pending, unless one report fails. Never throws. Concurrent callers share the result. */
  send(): Promise<void>
  /** Sends the rest, for a few seconds at most. */
  close(): Promise<void>
}

const CONNECT_MS = 3000
const ANSWER_MS = 10_000
const CLOSE_MS = 3000
const MAX_REASON = 200

type Report = { sequence: number; body: string }

/** Opens the sending of reports to the control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openSending(options: Options): Sending {
  const { origin, token, path, next, log } = options
  const controller = new AbortController()
  const pool = new Pool(origin, { connections: 1, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const server = randomText(16)
  let sequence = 0
  let report: Report | undefined
  let running: Promise<void> | undefined
  let isAway = false
  const nextReport = (): Report | undefined => {
    const fields = next()
    if (fields === undefined) return undefined
    sequence++
    return { sequence, body: JSON.stringify({ server, sequence, ...fields }) }
  }
  const sendAll = async () => {
    for (report ??= nextReport(); report !== undefined; report = nextReport()) {
      try {
        const refused = await postReport(pool, { token, path, body: report.body }, controller.signal)
        if (refused !== undefined) log.error({ reason: refused }, options.refused)
      } catch (error) {
        if (!isAway) log.warn({ err: error }, options.away)
        isAway = true
        return
      }
      isAway = false
      options.onTaken?.()
    }
  }
  const send = () => {
    running ??= sendAll().finally(() => {
      running = undefined
    })
    return running
  }
  return {
    send,
    async close() {
      const end = setTimeout(() => controller.abort(), CLOSE_MS)
      // A report in flight at this time does not include the rest.
      await send()
      await send()
      clearTimeout(end)
      await pool.destroy()
    },
  }
}

/** Returns undefined if the report counted, or why it is invalid. Throws if it must be retried, also for an older control plane. */
async function postReport(
  pool: Pool,
  { token, path, body }: { token: string; path: string; body: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const answer = await pool.request({
    method: 'POST',
    path,
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
