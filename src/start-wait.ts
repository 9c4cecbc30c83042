/** Dependencies of a start that may come later after a reboot: the database, and the name or address of HOST. docs/operations.md: Start order. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

/** `seconds`: how long a start waits at most; 0: not at all. */
export type StartWait = { seconds: number; log: Logger }

const AGAIN_MS = 1000
/** The log interval of a waiting start, in attempts. */
const SAID_EACH = 30

/** The network or name is not up yet, or no server listens yet. */
const NETWORK_NOT_YET = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOENT|ENOTFOUND|EAI_\w+|EADDRNOTAVAIL)$/
/** PostgreSQL: starting or stopping (57P01 to 57P03), out of connections, a lost connection, or a standby before its promotion. */
const SERVER_NOT_YET = /^(57P0[123]|53300|08\w{3}|25006)$/
/** Driver messages without a code. */
const DRIVER_NOT_YET = /^(Connection terminated|timeout exceeded when trying to connect|timeout expired)/

/**
 * Retries an attempt each second while a dependency may still come, and logs what it waits for. Returns the result. Throws the last error, and
 * permanent ones, such as a rejected login, at once. docs/operations.md: Start order.
 */
export async function untilThere<T>(what: string, { seconds, log }: StartWait, attempt: () => Promise<T>): Promise<T> {
  const until = performance.now() + seconds * 1000
  for (let tries = 0; ; tries++) {
    try {
      const there = await attempt()
      if (tries > 0) log.info(`${what} is there now; the start goes on`)
      return there
    } catch (error) {
      if (!canCome(error) || performance.now() >= until) throw error
      if (tries % SAID_EACH === 0)
        log.warn({ err: error }, `waiting for ${what}: a start waits up to ${seconds} s (BERTH_START_WAIT_SECONDS)`)
      await sleep(AGAIN_MS)
    }
  }
}

const LONG_MS = 10_000

/** Runs `work` and logs a sentence repeatedly while it runs. Returns its result. */
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

/** Whether the error, or its cause, is temporary. */
function canCome(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '', syscall } = error as NodeJS.ErrnoException
  const isNetwork = NETWORK_NOT_YET.test(code) && (code !== 'ENOENT' || syscall === 'connect')
  return (
    isNetwork ||
    SERVER_NOT_YET.test(code) ||
    (code === '' && DRIVER_NOT_YET.test(error.message)) ||
    (error instanceof AggregateError && error.errors.some(canCome)) ||
    canCome(error.cause)
  )
}
