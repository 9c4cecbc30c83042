/** Writes what gathered in memory, again and again in the background, so that nobody waits for it. */
import type { Logger } from 'pino'

/** What gathered is written this often: a kill loses less than a second. */
const PERIOD_MS = 250
/** A store that takes no writes is asked less often. */
const AFTER_FAILURE_MS = 1000
/** How long a stop waits for a store that does not answer. */
const LAST_MS = 2000

/**
 * Starts to write. `write` writes all that gathered, or throws and keeps it; it does nothing when there is nothing. Gives the way to stop, which
 * writes once more: call it when nobody gathers any more. `what`: named in the log, where a failure is told once until a write succeeds.
 */
export function startWriteBehind(
  { log }: { log: Pick<Logger, 'info' | 'warn'> },
  what: string,
  write: () => Promise<void>,
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
      failing ? AFTER_FAILURE_MS : PERIOD_MS,
    ).unref()
  }
  schedule()
  return async () => {
    await within(LAST_MS, running)
    clearTimeout(timer)
    await within(LAST_MS, run())
  }
}

/** Waits for work, but not longer than this. */
async function within(ms: number, work: Promise<void>): Promise<void> {
  let timeout: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timeout = setTimeout(resolve, ms)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timeout))
}
