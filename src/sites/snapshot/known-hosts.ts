/** What a sites server knows of every host: the snapshot that it follows, and own urls that it looks up. docs/deploying-sites.md: What the sites server knows. */
import type { Logger } from 'pino'
import type { HostEntry, HostIndex } from '../../platform/verdict/hosts.ts'
import { LOOKUPS_AT_ONCE, openControlPlane } from './control-plane.ts'
import { follow } from './follow.ts'
import { compareGeneration } from './generation.ts'
import { type OwnUrls, openOwnUrls } from './own-urls.ts'
import { keepOwnUrls } from './own-urls-file.ts'

export type KnownHosts = {
  /**
   * What a host resolves to: a verified domain of this name, the own url of a deployment, the closest wildcard, a claim. `host`: lower case, without a port.
   * `address`: the visitor's. `unavailable`: it may be an own url, and the control plane cannot be asked now.
   */
  find(host: string, address: string): Promise<HostEntry | 'unavailable'>
  /** What the own url of the deployment of this id resolves to, with its age. Look-ups are counted with those of own urls. `none`: there is none. */
  findDeployment(id: string, address: string): Promise<HostEntry | 'none' | 'unavailable'>
  /** Of the snapshot; undefined until anything is known. */
  version(): string | undefined
  /** For how long the control plane could not be asked; 0 while it can, infinite where nothing is known. */
  staleMs(): number
  stop(): Promise<void>
}

export type KnownHostsOptions = {
  /** The listener of the control plane, as `http://127.0.0.1:3001`. */
  origin: string
  /** BERTH_SITES_TOKEN. */
  token: string
  /** Where what is known is kept for the next start; of this process alone. */
  folder: string
  log: Logger
}

/** Before the id of a deployment, where others have a host: no host has a space. */
const BY_ID = 'deployment '

/** Opens what the folder holds and follows the control plane. It throws where the folder cannot be made. */
export async function openKnownHosts({ origin, token, folder, log }: KnownHostsOptions): Promise<KnownHosts> {
  const controlPlane = openControlPlane(origin, token)
  const ownUrls = openOwnUrls({
    ask: (key) => (key.startsWith(BY_ID) ? controlPlane.deployment(key.slice(BY_ID.length)) : controlPlane.host(key)),
    isOld: (version) => compareGeneration(follower.version(), version) === 'older',
    atOnce: LOOKUPS_AT_ONCE,
  })
  const follower = await follow({ controlPlane, folder, log, onLines: ownUrls.changed, onAll: ownUrls.suspect })
  const keeper = await keepOwnUrls(ownUrls, folder, log)
  return {
    find: (host, address) => find(follower.hosts, ownUrls, host, address),
    findDeployment: (id, address) => ownUrls.find(BY_ID + id, address),
    version: follower.version,
    staleMs: follower.staleMs,
    async stop() {
      await follower.stop()
      await keeper.stop()
      await controlPlane.close()
    },
  }
}

async function find(
  hosts: () => HostIndex,
  ownUrls: OwnUrls,
  host: string,
  address: string,
): Promise<HostEntry | 'unavailable'> {
  const exact = hosts().findExact(host)
  if (exact !== undefined) return exact
  // An address of IPv6, which is no name.
  const own = host === '' ? 'none' : await ownUrls.find(host, address)
  if (typeof own !== 'string') return own
  const entry = hosts().find(host)
  const isCovered = entry.serving.kind !== 'unknown' && entry.serving.kind !== 'unverified'
  return own === 'unavailable' && !isCovered ? 'unavailable' : entry
}
