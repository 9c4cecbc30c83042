/** A connection that LISTENs, and comes back when it is lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const RETRY_MS = 1000

/**
 * Calls `listener` at every notification of `channel`, and each time it listens anew: what was said meanwhile was missed.
 * `onLost` hears of connections that ended. Gives the way to stop.
 */
export function listenOnPostgres(
  url: string,
  channel: string,
  listener: () => void,
  onLost: (error: Error) => void,
): () => Promise<void> {
  const stop = new AbortController()
  let client: pg.Client | undefined
  const run = async () => {
    while (!stop.signal.aborted) {
      client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000, keepAlive: true })
      const ended = new Promise<void>((resolve) => client!.once('end', resolve))
      client.on('error', onLost)
      client.on('notification', listener)
      try {
        await client.connect()
        await client.query(`listen ${channel}`)
        listener()
        await ended
      } catch (error) {
        if (!stop.signal.aborted) onLost(error as Error)
        await client.end().catch(() => {})
      }
      await sleep(RETRY_MS, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await client?.end().catch(() => {})
    await running
  }
}
