/** All hosts that a sites server knows: the snapshot, and own urls that it looks up. docs/deploying-sites.md: Data of the sites server. */
import type { Logger } from 'pino'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import type { HostEntry, HostIndex } from '../../platform/verdict/hosts.ts'
import { LOOKUPS_AT_ONCE, openControlPlane } from './control-plane.ts'
import { follow } from './follow.ts'
import { compareGeneration } from './generation.ts'
import { createOwnUrls, type OwnUrls } from './own-urls.ts'
import { keepOwnUrls } from './own-urls-file.ts'

export type KnownHosts = {
  /**
   * Resolves a host: a verified domain of this name, the own url of a deployment, the closest wildcard, or a claim. `host` is
   * lower case, without a port. `address` is the visitor's. `unavailable`: it may be an own url, and the control plane is
   * unreachable.
   */
  find(host: string, address: string): Promise<HostEntry | 'unavailable'>
  /** Resolves the own url of a deployment by id, with its age. Counts as a lookup of an own url. `none`: it does not exist. */
  findDeployment(id: string, address: string): Promise<HostEntry | 'none' | 'unavailable'>
  /** The snapshot version; undefined before the first snapshot. */
  version(): string | undefined
  /** The platform suffix of the control plane, if it has one. */
  suffix(): string | undefined
  /** How long the control plane has been unreachable: 0 while it responds, infinite before the first snapshot. */
  staleMs(): number
  stop(): Promise<void>
}

export type KnownHostsOptions = {
  origin: string
  token: string
  /** Stores facts for the next start. Used by this process only. */
  folder: string
  log: Logger
  /** Called with facts that changed. */
  onLines?(lines: readonly FactLine[]): void
}

/** Prefix for deployment ids in place of a host: no host contains a space. */
const BY_ID = 'deployment '

/** Loads the directory and follows the control plane. Throws if the directory cannot be created. */
export async function openKnownHosts({ origin, token, folder, log, onLines }: KnownHostsOptions): Promise<KnownHosts> {
  const controlPlane = openControlPlane(origin, token)
  const ownUrls = createOwnUrls({
    ask: (key) => (key.startsWith(BY_ID) ? controlPlane.deployment(key.slice(BY_ID.length)) : controlPlane.host(key)),
    isOld: (version) => compareGeneration(follower.version(), version) === 'older',
    atOnce: LOOKUPS_AT_ONCE,
  })
  const take = (lines: readonly FactLine[]) => {
    ownUrls.changed(lines)
    onLines?.(lines)
  }
  const follower = await follow({ controlPlane, folder, log, onLines: take, onAll: ownUrls.suspect })
  const keeper = await keepOwnUrls(ownUrls, folder, log)
  return {
    find: (host, address) => find(follower.hosts, ownUrls, host, address),
    findDeployment: (id, address) => ownUrls.find(BY_ID + id, address),
    version: follower.version,
    suffix: follower.suffix,
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
  // An IPv6 address is not a name.
  const own = host === '' ? 'none' : await ownUrls.find(host, address)
  if (typeof own !== 'string') return own
  const entry = hosts().find(host)
  const isCovered = entry.serving.kind !== 'unknown' && entry.serving.kind !== 'unverified'
  return own === 'unavailable' && !isCovered ? 'unavailable' : entry
}
