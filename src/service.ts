/** Config -> a running service: opens what it needs in order, and closes it in the opposite one. Used by main and by the tests' world. */
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openClock } from './clock.ts'
import { BadSetting, type Config } from './config.ts'
import type { Deps } from './context.ts'
import type { Db } from './db/db.ts'
import type { SqliteOptions } from './db/open-sqlite.ts'
import { type Edge, openEdge } from './edge/listener.ts'
import { openKeys } from './env/root-keys.ts'
import { documentPages } from './http/documents.ts'
import { emptyServer } from './http/door.ts'
import { serve } from './http/serve.ts'
import { fingerprint } from './ids.ts'
import { metadataPages } from './integrations/metadata.ts'
import { startPoster } from './mail/poster.ts'
import { openCredentials, type StartCredentials } from './operator/bootstrap.ts'
import { makeFolder } from './outside/folder.ts'
import { openOutside } from './outside/outside.ts'
import { ROUTES } from './routes.ts'
import { SCREENS } from './screens.ts'
import { startTimers } from './timers.ts'
import { startDeliveries } from './webhooks/deliver.ts'

export type Service = {
  app: FastifyInstance
  deps: Deps
  credentials: StartCredentials
  /** True when this start filled an empty store. */
  firstStart: boolean
  /** Reads what visitors may see and makes the listener for proxies; undefined where there is none. The service closes it. */
  openEdge(): Promise<Edge | undefined>
  /**
   * Takes no new connection, lets requests in flight finish, then closes the store. `graceMs`: how long open connections stay
   * for requests that are on their way on them; closing at once would cut those off unread.
   */
  close(graceMs?: number): Promise<void>
}

/** How the embedded store is tuned; its own choices when empty. */
export type StoreOptions = Pick<SqliteOptions, 'groupLimit' | 'synchronous'>

/** `onDiskFault` ends the process: what a failed fsync left on disk is unknown until the store is opened anew. */
export async function openService(
  config: Config,
  log: Logger,
  onDiskFault: (error: unknown) => void,
  store: StoreOptions = {},
): Promise<Service> {
  makeDataFolder(config)
  const db = await openStore(config, log, { ...store, onDiskFault })
  const clock = openClock()
  const keyring = await openKeys(config, db, clock).catch(async (error) => {
    await db.close()
    throw error
  })
  const { credentials, firstStart } = await openCredentials(db, clock, config)
  const stop = new AbortController()
  const deps: Deps = {
    config,
    db,
    clock,
    log,
    outside: openOutside(config, keyring),
    operatorTokenHash: fingerprint(credentials.operatorToken),
    origin: () => config.publicUrl ?? boundOrigin(app) ?? `http://${config.host}:${config.port}`,
    nudges: { mail: () => {}, deliveries: () => {}, timer: () => {} },
    stopping: stop.signal,
  }
  const app: FastifyInstance = serve(deps, ROUTES, [...documentPages(ROUTES), ...metadataPages(deps.origin)], SCREENS)
  const stopBackground = config.timers ? startBackground(deps) : async () => {}
  let edge: Edge | undefined
  return {
    app,
    deps,
    credentials,
    firstStart,
    async openEdge() {
      if (config.edge.port !== undefined) edge ??= await openEdge(deps)
      return edge
    },
    async close(graceMs = 0) {
      await emptyServer(app, graceMs, () => {
        stop.abort()
        return stopBackground()
      })
      await deps.outside.egress.close()
      // Visitors are let in until the last: a proxy that finds the door closed shows them an error.
      await edge?.close()
      await db.close()
    },
  }
}

/** What works without being asked: timers, deliveries, mail. The answer stops it. */
function startBackground(deps: Deps): () => Promise<void> {
  const stops = [startDeliveries, startTimers, startPoster].map((begin) => begin(deps))
  return async () => void (await Promise.all(stops.map((stop) => stop())))
}

/** Where the service listens, as a URL; undefined before it does. */
export function boundOrigin(app: FastifyInstance): string | undefined {
  const bound = app.server.address() as AddressInfo | null
  if (bound === null) return undefined
  return `http://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`
}

function makeDataFolder({ dataFolder }: Config): void {
  try {
    makeFolder(dataFolder)
  } catch (error) {
    throw new BadSetting(`BERTH_DATA: cannot make the folder ${dataFolder} (${(error as Error).message})`)
  }
}

/** Only the engine that is used is loaded. */
async function openStore({ database }: Config, log: Logger, store: Omit<SqliteOptions, 'file'>): Promise<Db> {
  if (database.engine === 'sqlite') {
    const { openSqlite } = await import('./db/open-sqlite.ts')
    return openSqlite({ ...store, file: database.file })
  }
  const { openPostgres } = await import('./db/open-postgres.ts')
  return openPostgres(database.url, (error) => log.warn({ err: error }, 'the database ended a connection'))
}
