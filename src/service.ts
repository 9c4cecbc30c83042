/** Config -> a running service: opens what it needs in order, and closes it in the opposite one. Used by main and by the tests' world. */

import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { PASSKEY_SCRIPT } from './accounts/second-factor/passkey-script.ts'
import { startIdentityChecks } from './accounts/single-sign-on/check.ts'
import { type Config, listenOrigin } from './config.ts'
import { NOT_FOUND_SCREEN } from './console/error-page.ts'
import type { Deps } from './context.ts'
import { startCollection } from './delivery/uploads/collect.ts'
import { startDeliveries } from './integrations/deliveries/worker.ts'
import { metadataPages } from './integrations/oauth/metadata.ts'
import { createMetrics } from './metrics.ts'
import { createBackups } from './operations/backup/instance-backups.ts'
import { startScheduledBackups } from './operations/backup/scheduled.ts'
import { type Edge, openEdge } from './operations/edge/listener.ts'
import { openCredentials, type StartCredentials } from './operations/operator/bootstrap.ts'
import { startGauges } from './operations/operator/gauges.ts'
import { createProbes } from './operations/operator/probes.ts'
import { createLastSeen, LAST_SEEN_MS, writeLastSeen } from './platform/access/last-seen.ts'
import { openAdapters } from './platform/adapters/adapters.ts'
import { createClock } from './platform/base/clock.ts'
import { fingerprint } from './platform/base/ids.ts'
import { createCache } from './platform/cache/cache.ts'
import type { openConnections } from './platform/db/postgres/open.ts'
import type { SqliteOptions } from './platform/db/sqlite/open.ts'
import { startWriteBehind } from './platform/db/write-behind.ts'
import type { Probe, PublicPage } from './platform/http/public-page.ts'
import { startLimiter } from './platform/limiter/start.ts'
import { openLive } from './platform/live/live.ts'
import { sealPendingMail } from './platform/mail/mail.ts'
import { startMailWorker } from './platform/mail/worker.ts'
import { documentPages } from './platform/openapi/pages.ts'
import { createSecretReads } from './platform/outbox/secret-reads.ts'
import {
  assetPages,
  CONTROLS,
  DROP_SCRIPT,
  FACE_ASSETS,
  KEYS_SCRIPT,
  LIVE_SCRIPT,
  LOG_SCRIPT,
  SAVED_FORM_SCRIPT,
  SCRIPT,
  SEARCH,
} from './platform/pages/assets/assets.ts'
import { frontPages } from './platform/pages/front-page.ts'
import { loadKeyring } from './platform/secrets/root-keys.ts'
import { drainServer } from './platform/server/graceful-shutdown.ts'
import { type NewServer, serve } from './platform/server/serve.ts'
import { createUnnamedProxies, watchProxies } from './platform/tls/unnamed-proxies.ts'
import { PROJECT_HOOKS } from './project-hooks.ts'
import { startDomainChecks } from './projects/domain-verification/checks.ts'
import { ROUTES } from './routes.ts'
import { SCREENS } from './screens.ts'
import type { StartWait } from './start-wait.ts'
import { openStore } from './store.ts'
import { startTimers } from './timers.ts'

export type Service = {
  app: FastifyInstance
  deps: Deps
  credentials: StartCredentials
  /** True when this start initialized an empty database. */
  firstStart: boolean
  /** Loads the host index and creates the listener for proxies; undefined without one. The service closes it. */
  openEdge(): Promise<Edge | undefined>
  /**
   * Stops accepting connections, finishes requests in flight, and closes the database. `graceMs`: how long open connections stay for requests in
   * transit. `endRest`: called then, to close more than the idle connections.
   */
  close(graceMs?: number, endRest?: () => void): Promise<void>
}

/**
 * SQLite options, empty for the defaults. `connect`, `newServer`: return expensive parts of a start, which tests reuse. `waits`: how long to wait for
 * a database server; without it, not at all.
 */
export type StoreOptions = Pick<SqliteOptions, 'groupLimit' | 'synchronous'> & {
  connect?: typeof openConnections
  newServer?: NewServer
  waits?: StartWait
}

/** Opens the service. Throws BadSetting. `onDiskError` ends the process: after a failed fsync the disk content is unknown until the database is reopened. */
export async function openService(
  config: Config,
  log: Logger,
  onDiskError: (error: unknown) => void,
  { newServer, ...store }: StoreOptions = {},
): Promise<Service> {
  const metrics = createMetrics()
  const { db, traces, files } = await openStore(config, log, { ...store, onDiskError }, metrics)
  const clock = createClock()
  const closed = (error: unknown) => db.close().then(() => Promise.reject(error))
  const keyring = await loadKeyring(config, db, clock).catch(closed)
  const start = await openCredentials(db, clock, config).catch(closed)
  const opened = await startLimiter(config, { db, metrics }, clock.now()).catch(closed)
  const stop = new AbortController()
  const deps: Deps = {
    config,
    db,
    clock,
    log,
    metrics,
    ...openParts({ config, db, clock, log, metrics, traces, files }),
    limits: opened.limits,
    secretReads: createSecretReads({ db, clock, log, metrics }),
    keyring,
    operatorTokenHash: fingerprint(start.credentials.operatorToken),
    origin: () => config.publicUrl ?? boundOrigin(app) ?? listenOrigin(config),
    shutdownSignal: stop.signal,
  }
  const app: FastifyInstance = serve(deps, ROUTES, pagesOf(deps), SCREENS, NOT_FOUND_SCREEN, newServer)
  stop.signal.addEventListener('abort', watchProxies(app.server, deps.unnamedProxies))
  const stopBackground = await sealPendingMail(deps).then(() => startBackground(deps), closed)
  const stopWriting = startWriters(deps, opened.write)
  let edge: Edge | undefined
  return {
    app,
    deps,
    ...start,
    async openEdge() {
      if (config.edge.port !== undefined) edge ??= await openEdge(deps)
      return edge
    },
    async close(graceMs = 0, endRest) {
      await drainServer(app, { graceMs, endRest }, () => {
        stop.abort()
        return stopBackground()
      })
      await closeParts(deps, edge, stopWriting)
    },
  }
}

/** Closes the dependencies of requests and background work, after both have stopped. */
async function closeParts(
  { adapters, backups, db, traces }: Deps,
  edge: Edge | undefined,
  stopWriting: () => Promise<void>,
) {
  await adapters.egress.close()
  // The edge closes last: without a listener, a proxy shows its visitors an error.
  await edge?.close()
  await stopWriting()
  await backups.end()
  await db.close()
  // Last, because all parts above may still add spans.
  await traces?.close()
}

/** Opens adapters and in-memory parts, without waiting. */
function openParts(
  opened: Pick<Deps, 'config' | 'db' | 'clock' | 'log' | 'metrics' | 'traces' | 'files'>,
): Pick<
  Deps,
  | 'traces'
  | 'files'
  | 'adapters'
  | 'backups'
  | 'lastSeen'
  | 'live'
  | 'cache'
  | 'wakeups'
  | 'projectHooks'
  | 'unnamedProxies'
> {
  const { config, db, traces, files } = opened
  const wakeups = { mail: () => {}, deliveries: () => {}, timer: () => {}, builds: () => {} }
  const cache = db.engine === 'sqlite' ? createCache(db.changes) : undefined
  const adapters = openAdapters(config, traces)
  const backups = createBackups(opened)
  const live = openLive(opened)
  return {
    traces,
    files,
    unnamedProxies: createUnnamedProxies(config.connections, opened.log),
    adapters,
    backups,
    lastSeen: createLastSeen(),
    live,
    cache,
    wakeups,
    projectHooks: PROJECT_HOOKS,
  }
}

/** Pages and probes without a token: documentation and health checks. */
function pagesOf(deps: Deps): (PublicPage | Probe)[] {
  return [
    ...frontPages(),
    ...assetPages([
      ...FACE_ASSETS,
      SCRIPT,
      CONTROLS,
      DROP_SCRIPT,
      SEARCH,
      KEYS_SCRIPT,
      SAVED_FORM_SCRIPT,
      LIVE_SCRIPT,
      LOG_SCRIPT,
      PASSKEY_SCRIPT,
    ]),
    ...documentPages(ROUTES),
    ...metadataPages(deps.origin),
    ...createProbes(deps),
  ]
}

/** Starts metrics and, where this instance runs them, timers, deliveries and email. Returns a function that stops them. */
function startBackground(deps: Deps): () => Promise<void> {
  const outward = [
    startDeliveries,
    startMailWorker,
    startIdentityChecks,
    startDomainChecks,
    startScheduledBackups,
    startCollection,
  ]
  const { drill, timers } = deps.config
  if (drill)
    deps.log.warn('BERTH_DRILL is on: this instance sends no deliveries or email, and runs no checks or backups')
  const workers = timers ? [startTimers, ...(drill ? [] : outward)] : []
  const stops = [startGauges, ...workers].map((begin) => begin(deps))
  return async () => void (await Promise.all([deps.live.close(), ...stops.map((stop) => stop())]))
}

/** Starts the write-behind buffers. Returns a function to call once no request can add to them. */
function startWriters(deps: Deps, writeFailures: () => Promise<void>): () => Promise<void> {
  const stops = [
    startWriteBehind(deps, 'the count of failures', writeFailures),
    startWriteBehind(deps, 'who was given clear values', deps.secretReads.write),
    startWriteBehind(deps, 'who was last seen', () => writeLastSeen(deps), LAST_SEEN_MS),
  ]
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
    deps.secretReads.end()
  }
}

/** Returns the listen address as a URL; undefined before it listens. */
export function boundOrigin(app: FastifyInstance): string | undefined {
  const bound = app.server.address() as AddressInfo | null
  if (bound === null) return undefined
  const scheme = 'setSecureContext' in app.server ? 'https' : 'http'
  return `${scheme}://${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`
}
