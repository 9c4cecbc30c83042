/** A connection that LISTENs, and comes back when it is lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const RETRY_MS = 1000

/**
 * Calls `listener` at every notification of `channel`, and each time it listens anew: notifications of the time between were missed.
 * `onLost` hears of connections that ended. Gives the way to stop.
 */
export function listenOnPostgres(
  url: string,
  channel: string,
  listener: () => void,
  onLost: (error: Error) => void,
): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  // A client that is ended while it connects never says how that went.
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  const run = async () => {
    while (!signal.aborted) {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, keepAlive: true })
      const ended = new Promise<void>((resolve) => client.once('end', resolve))
      client.on('error', onLost)
      client.on('notification', listener)
      try {
        await Promise.race([client.connect().then(() => client.query(`listen ${channel}`)), stopped])
        if (!signal.aborted) listener()
        await Promise.race([ended, stopped])
      } catch (error) {
        if (!signal.aborted) onLost(error as Error)
      }
      await Promise.race([client.end().catch(() => {}), sleep(RETRY_MS, undefined, { ref: false })])
      await sleep(RETRY_MS, undefined, { signal }).catch(() => {})
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await running
  }
}
