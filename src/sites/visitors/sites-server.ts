/** The sites server: answers visitors from its host facts and its file cache, without a database. docs/deploying-sites.md: Sites server. */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { BadSetting } from '../../config.ts'
import type { Deps } from '../../context.ts'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import { isPublicAddress } from '../../platform/adapters/addresses.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import { openDns } from '../../platform/adapters/dns.ts'
import { openEgress } from '../../platform/adapters/egress.ts'
import { workerCode } from '../../platform/base/shipped-files.ts'
import { LAPTOP_SUFFIX } from '../../platform/settings/domains.ts'
import { type ContentCache, type FetchContent, openContentCache } from '../content/content-cache.ts'
import { startCrons } from '../crons/cron-runs.ts'
import { openDataCache } from '../data-cache/data-cache.ts'
import { createRenewals, type Renew } from '../data-cache/renewals.ts'
import { type FunctionOptions, openFunctionRuntime } from '../functions/runtime.ts'
import { createInnerRequests } from '../pictures/inner-request.ts'
import { openPictureSandbox, type PictureOptions } from '../pictures/picture-sandbox.ts'
import { openPictures } from '../pictures/pictures.ts'
import { openPrerenders } from '../prerender/prerenders.ts'
import { openRoutingPool } from '../routing-pool/pool.ts'
import { openFileSource } from '../snapshot/file-source.ts'
import { openKnownHosts } from '../snapshot/known-hosts.ts'
import { openUsage, type Usage } from '../usage/reports.ts'
import { openAdmission } from './admission.ts'
import { answerVisitor } from './answer-visitor.ts'
import { openForwarding } from './forward.ts'
import { openListener } from './listener.ts'
import { createSites } from './open-sites.ts'
import { letContinue } from './send.ts'

export type SitesServer = {
  /** Listens and returns the URL. */
  listen(host: string, port: number): Promise<string>
  /** Accepts no new connections, finishes requests in flight and closes resources. `graceMs`: as of a service (service.ts). */
  close(graceMs?: number): Promise<void>
}

/** Limits of a routing worker: a full heap terminates it, and another one starts. */
const WORKER_LIMITS = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 16 }

/** `functions` undefined: they are off. `pictures` undefined: they are sent as they are. `canReach`: addresses that rewrites may target. */
type Options = {
  functions?: FunctionOptions | undefined
  pictures?: PictureOptions | undefined
  canReach?: (address: string) => boolean
}

/** Opens the sites server. Throws BadSetting and system errors of the directories. */
export async function openSitesServer(
  { config, log }: Pick<Deps, 'config' | 'log'>,
  { functions: options, pictures: pictureOptions, canReach = isPublicAddress }: Options = {},
): Promise<SitesServer> {
  const { folder, cacheBytes, controlPlane } = config.sites
  const token = tokenOf(config)
  createDirectory(folder)
  const stop = new AbortController()
  const source = openFileSource(controlPlane, token)
  const cache = await openCache(folder, cacheBytes, source.fetch, log)
  const admission = openAdmission(controlPlane, token, log)
  const pool = openRoutingPool({ spawn: startWorker })
  const egress = openEgress(openDns(config.dnsServers), canReach)
  const usage = openUsage(controlPlane, token, log)
  const askSelf = createInnerRequests((raw, response) => void answerVisitor(parts, raw, response, 'inner'))
  const renew = createRenewals(() => known, askSelf)
  const means = { cache, folder, controlPlane, token, log, renew, count: usage.countFunction }
  const running = options && (await openRunning(options, means))
  const { functions, prerenders, data } = running ?? {}
  const sandbox = pictureOptions && (await openPictureSandbox(pictureOptions))
  const pictures = await openPictures({ egress, cache, folder, log, askSelf, sandbox })
  const known = await openKnownHosts({
    ...{ origin: controlPlane, token, folder: join(folder, 'hosts'), log },
    onLines(lines) {
      running?.take(lines)
      pictures.take(lines)
    },
  })
  const used = { known, admission, sites: createSites(cache), cache, pool, functions, prerenders, data, pictures }
  const parts = { ...used, forwarding: openForwarding(egress, log), usage, connections: config.connections, log }
  // That of the control plane, which gives the addresses: a setting that this machine lacks would let sites share cookies.
  const suffix = () => known.suffix() ?? config.domains.platformSuffix ?? LAPTOP_SUFFIX
  const listener = openListener({ config, log, shutdownSignal: stop.signal }, suffix, (request, response) =>
    answerVisitor(parts, request, response),
  )
  const askAsCron = createInnerRequests((raw, response) => void answerVisitor(parts, raw, response, 'cron'))
  const stopCrons = functions && startCrons({ origin: controlPlane, token, log }, askAsCron)
  return {
    listen: listener.listen,
    async close(graceMs = 0) {
      // On a local machine the control plane stops at the same time, and still responds now.
      void usage.send()
      await Promise.all([stopCrons?.(), listener.close(graceMs, async () => stop.abort())])
      await Promise.all([running?.close(), egress.close()])
      await pictures.close()
      await Promise.all([known.stop(), admission.close(), cache.close(), pool.close(), usage.close()])
      await source.close()
    },
  }
}

function tokenOf({ edge }: Deps['config']): string {
  if (edge.sitesToken !== undefined) return edge.sitesToken
  throw new BadSetting('BERTH_SITES_TOKEN must be set for berth sites, to what the control plane has')
}

function startWorker(): Worker {
  return new Worker(workerCode(), { eval: true, resourceLimits: WORKER_LIMITS })
}

type Means = {
  cache: ContentCache
  folder: string
  controlPlane: string
  token: string
  log: Logger
  renew: Renew
  count: Usage['countFunction']
}

/** Opens what runs functions, and what keeps what they make. */
async function openRunning(options: FunctionOptions, { cache, folder, controlPlane, token, log, renew, count }: Means) {
  const data = await openDataCache({ cache, folder, origin: controlPlane, token, log, renew })
  const functions = await openFunctionRuntime(options, { cache, data, controlPlane, token, letContinue, count, log })
  const prerenders = await openPrerenders({ functions, cache, folder, log })
  return {
    data,
    functions,
    prerenders,
    take(lines: readonly FactLine[]) {
      data.take(lines)
      prerenders.take(lines)
    },
    async close() {
      await functions.close()
      await prerenders.close()
      await data.close()
    },
  }
}

function openCache(directory: string, budgetBytes: number, fetch: FetchContent, log: Logger): Promise<ContentCache> {
  const onError = (error: unknown) => log.warn({ err: error }, 'a file of a site could not be encoded')
  return openContentCache({ folder: directory, budgetBytes, fetch, onError })
}
