/** Lines and requests of functions: to the control plane every 2 seconds. docs/functions.md: Log. */
import type { Logger } from 'pino'
import { LOGS_PATH, MAX_LOG_BYTES, MAX_LOG_LINES } from '../../delivery/protocol/log-report.ts'
import type { FunctionLine } from '../functions/log-lines.ts'
import { openSending } from '../usage/sending.ts'
import { createLineBuffer, type LineOwner, type RequestFacts } from './line-buffer.ts'

export type FunctionLog = {
  /** `mask`: hides secrets in the text. */
  write(owner: LineOwner, line: FunctionLine, mask?: (text: string) => string): void
  /** Notes a request. Call the result once its answer has ended, with its status. */
  begin(owner: LineOwner, facts: RequestFacts): (status: number) => void
  /** Sends what is there. Never throws. */
  send(): Promise<void>
  close(): Promise<void>
}

const PERIOD_MS = 2000
/** JSON can take six bytes for one of text. A report that is too large would be lost. */
const TEXT_BYTES = MAX_LOG_BYTES / 6 - 64 * 1024

/** Starts to report to the control plane at `origin`, with BERTH_SITES_TOKEN. `periodMs`: another period, for tests. */
export function openFunctionLog(origin: string, token: string, log: Logger, periodMs = PERIOD_MS): FunctionLog {
  const buffer = createLineBuffer()
  const next = () => {
    const lines = buffer.take(MAX_LOG_LINES, TEXT_BYTES)
    return lines.length === 0 ? undefined : { lines }
  }
  const sending = openSending({
    origin,
    token,
    path: LOGS_PATH,
    next,
    log,
    away: 'cannot report log lines of functions to the control plane; 8 MiB are kept',
    refused: 'the control plane rejected log lines of functions; they are lost',
  })
  const timer = setInterval(() => void sending.send(), periodMs)
  return {
    write: (owner, { stream, requestId, text }, mask) =>
      buffer.add(owner, { level: stream === 'stderr' ? 'error' : 'info', text, requestId }, mask),
    begin: buffer.begin,
    send: sending.send,
    async close() {
      clearInterval(timer)
      await sending.close()
    },
  }
}
