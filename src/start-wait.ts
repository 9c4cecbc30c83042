/** What may come later than Berth after a reboot is waited for at the start: the database, and the name or address of HOST. docs/operations.md: Start order. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

/** `seconds`: how long a start waits at most; 0: it does not. */
export type StartWait = { seconds: number; log: Logger }

/** Between two tries. */
const AGAIN_MS = 1000
/** How often the log says that the start still waits, in tries. */
const SAID_EACH = 30

/** There is no way to it yet, nobody listens there yet, or its name is not known yet. */
const NETWORK_NOT_YET = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOENT|ENOTFOUND|EAI_\w+|EADDRNOTAVAIL)$/
/** PostgreSQL: it starts or stops (57P01 to 57P03), has no connection left, lost this one, or is a standby that nobody has promoted yet. */
const SERVER_NOT_YET = /^(57P0[123]|53300|08\w{3}|25006)$/
/** What the driver says itself has no code. */
const DRIVER_NOT_YET = /^(Connection terminated|timeout exceeded when trying to connect|timeout expired)/

/**
 * Tries again each second, for so many seconds, while what an attempt needs may still come, and says in the log what is waited for. Gives what the attempt
 * gave. Throws what the last attempt threw, and at once what no waiting changes, such as a login that is refused.
 * docs/operations.md: Start order.
 */
export async function untilThere<T>(what: string, { seconds, log }: StartWait, attempt: () => Promise<T>): Promise<T> {
  const until = performance.now() + seconds * 1000
  for (let tries = 0; ; tries++) {
    try {
      const there = await attempt()
      if (tries > 0) log.info(`${what} is there now; the start goes on`)
      return there
    } catch (error) {
      if (!mayCome(error) || performance.now() >= until) throw error
      if (tries % SAID_EACH === 0)
        log.warn({ err: error }, `waiting for ${what}: a start waits up to ${seconds} s (BERTH_START_WAIT_SECONDS)`)
      await sleep(AGAIN_MS)
    }
  }
}

/** Between two lines about what has not come to an end. */
const LONG_MS = 10_000

/** Says in the log, again and again, that `work` takes long, where it does. Gives what it gave. Throws what it threw. */
export async function saidWhile<T>(
  sentence: string,
  log: Pick<Logger, 'warn'>,
  work: () => Promise<T>,
  eachMs = LONG_MS,
): Promise<T> {
  const saying = setInterval(() => log.warn(sentence), eachMs)
  try {
    return await work()
  } finally {
    clearInterval(saying)
  }
}

/** Whether the error, or one that it stands for, is of something that may come by itself. */
function mayCome(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '', syscall } = error as NodeJS.ErrnoException
  const isNetwork = NETWORK_NOT_YET.test(code) && (code !== 'ENOENT' || syscall === 'connect')
  return (
    isNetwork ||
    SERVER_NOT_YET.test(code) ||
    (code === '' && DRIVER_NOT_YET.test(error.message)) ||
    (error instanceof AggregateError && error.errors.some(mayCome)) ||
    mayCome(error.cause)
  )
}
