/** Reports usage every 10 seconds. Retries keep the report's number, so it counts once. docs/deploying-sites.md: Usage. */
import type { Logger } from 'pino'
import { MAX_FUNCTION_LINES, MAX_LINES, USAGE_PATH } from '../../delivery/protocol/usage-report.ts'
import type { CountedResponse } from './counted-response.ts'
import { createCounts } from './counts.ts'
import { createFunctionCounts, type Invoked } from './function-counts.ts'
import { openSending } from './sending.ts'

export type Usage = {
  /** Counts a response for a deployment when it ends. Call it once per response, before it ends. */
  count(response: CountedResponse, deploymentId: string): void
  /** Counts an invocation of a function. */
  countFunction(invoked: Invoked): void
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

/** Starts counting and reporting to the control plane at `origin`, with BERTH_SITES_TOKEN. `periodMs`: another period, for tests. */
export function openUsage(origin: string, token: string, log: Logger, periodMs = PERIOD_MS): Usage {
  const counts = createCounts(MAX_KEPT)
  const invocations = createFunctionCounts(MAX_KEPT)
  const next = () => {
    const [usage, functions] = [counts.take(MAX_LINES), invocations.take(MAX_FUNCTION_LINES)]
    if (functions.length > 0) return { usage, functions }
    return usage.length === 0 ? undefined : { usage }
  }
  let isFull = false
  const { send, close } = openSending({
    origin,
    token,
    path: USAGE_PATH,
    next,
    log,
    away: 'cannot report usage to the control plane; it is kept and sent later',
    refused: 'the control plane rejected a usage report; it is not counted',
    onTaken() {
      isFull = false
    },
  })
  let isEarly = false
  const timer = setInterval(() => {
    isEarly = false
    void send()
  }, periodMs)
  function add(this: CountedResponse): void {
    const status = this.headersSent ? this.statusCode : undefined
    if (!counts.add(this.deploymentId!, { status, bytes: this.bodyBytes })) {
      if (!isFull) log.warn('too many deployments to keep their usage; requests to others are not counted')
      isFull = true
    }
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
    countFunction: invocations.add,
    send,
    async close() {
      clearInterval(timer)
      await close()
    },
  }
}
