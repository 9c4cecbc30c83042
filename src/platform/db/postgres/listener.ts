import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pause } from '../../base/clock.ts'
import { IDLE } from './pipeline.ts'

const RETRY_MS = 1000
const ALIVE = {
  connectionTimeoutMillis: 2000,
  query_timeout: 5000,
  keepAlive: true,
  keepAliveInitialDelayMillis: IDLE.probeMs,
}

/**
 * Calls `listener` with the payload of every notification of `channel`, and with undefined each time it starts to LISTEN: earlier notifications were
 * missed. A network may drop an idle connection, so it is probed each `probeMs` and replaced where it does not respond. `onLost` receives the errors
 * of lost connections. Returns a function that stops it.
 */
export function listenOnPostgres(
  url: string,
  channel: string,
  listener: (payload: string | undefined) => void,
  onLost: (error: Error) => void,
  probeMs = IDLE.probeMs,
): () => Promise<void> {
  const stop = new AbortController()
  const { signal } = stop
  // A client that is ended while it connects never settles.
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  const run = async () => {
    while (!signal.aborted) {
      const client = new pg.Client({ connectionString: url, ...ALIVE })
      const ended = new Promise<void>((resolve) => client.once('end', resolve))
      client.on('error', onLost)
      client.on('notification', ({ payload = '' }) => listener(payload))
      try {
        await Promise.race([client.connect().then(() => client.query(`listen ${channel}`)), stopped])
        if (!signal.aborted) listener(undefined)
        await Promise.race([ended, stopped, untilSilent(client, probeMs, signal)])
      } catch (error) {
        if (!signal.aborted) onLost(error as Error)
      }
      await Promise.race([client.end().catch(() => {}), sleep(RETRY_MS, undefined, { ref: false })])
      await pause(RETRY_MS, signal)
    }
  }
  const running = run()
  return async () => {
    stop.abort()
    await running
  }
}

/** Probes until a response is late, then throws. */
async function untilSilent(client: pg.Client, probeMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(probeMs, undefined, { signal, ref: false }).catch(() => {})
    if (!signal.aborted) await client.query('select')
  }
}
