/** Flushes buffered writes in the background, so that no request waits for them. */
import type { Logger } from 'pino'
import { withTimeLimit } from '../fairness/time-limit.ts'

/** The usual flush interval: a kill loses less than a second. */
const PERIOD_MS = 250
const AFTER_FAILURE_MS = 1000
/** How long a stop waits for an unresponsive database. */
const LAST_MS = 2000

/**
 * Starts to flush. `write` writes everything in the buffer, or throws and keeps it. Returns a function that stops after a last flush: call it when no
 * more writes are buffered. `what`: the name in the log, which reports a failure once until a write succeeds.
 */
export function startWriteBehind(
  { log }: { log: Pick<Logger, 'info' | 'warn'> },
  what: string,
  write: () => Promise<void>,
  periodMs = PERIOD_MS,
): () => Promise<void> {
  let failing = false
  let running = Promise.resolve()
  let timer: NodeJS.Timeout
  const run = async () => {
    try {
      await write()
      if (failing) log.info(`${what} can be written again`)
      failing = false
    } catch (error) {
      if (!failing) log.warn({ err: error }, `${what} could not be written; it is tried again every second`)
      failing = true
    }
  }
  const schedule = () => {
    timer = setTimeout(
      () => {
        running = run().then(schedule)
      },
      failing ? AFTER_FAILURE_MS : periodMs,
    ).unref()
  }
  schedule()
  return async () => {
    await withTimeLimit(running, LAST_MS, undefined)
    clearTimeout(timer)
    await withTimeLimit(run(), LAST_MS, undefined)
  }
}
