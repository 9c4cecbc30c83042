/** Types of connection, proxy and sites server settings. docs/limits.md: Connections. */
import { BlockList, isIP } from 'node:net'
import { join } from 'node:path'
import {
  BadSetting,
  BYTES,
  IntegerSetting,
  ORIGIN,
  PATH,
  PORT_OR_OFF,
  type Setting,
  type SettingType,
  splitCommaList,
  TokenSetting,
  type ValuesOf,
} from './types.ts'

type TrustedProxies = BlockList

/** `trustedProxies` undefined: none. */
export type ConnectionSettings = { perAddress: number; trustedProxies: TrustedProxies | undefined }

/** Addresses, or networks as `address/bits`. */
const NETWORKS: SettingType<TrustedProxies> = {
  values: 'addresses or networks such as `10.0.0.0/8`, comma-separated',
  read(name, text) {
    const networks = new BlockList()
    for (const network of splitCommaList(text)) {
      const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? []
      const family = isIP(address)
      const max = family === 4 ? 32 : 128
      if (family === 0 || Number(bits ?? max) > max)
        throw new BadSetting(`${name} must be addresses or networks such as 10.0.0.0/8, not "${network}"`)
      networks.addSubnet(address, Number(bits ?? max), family === 4 ? 'ipv4' : 'ipv6')
    }
    return networks
  },
}

export const CONNECTIONS = {
  BERTH_TRUSTED_PROXIES: {
    group: 'Proxies',
    type: NETWORKS,
    whenUnset: 'none',
    description:
      'Reverse proxies in front of Berth. They have no connection limit, and the client in their `X-Forwarded-For` is counted instead: [limits.md](limits.md#behind-a-proxy).',
  },
  BERTH_CONNECTIONS_PER_ADDRESS: {
    group: 'Listening',
    type: IntegerSetting(1, 10_000),
    default: '2500',
    description:
      'Connections that one address (IPv6: one /64) may have per listener: [limits.md](limits.md#connections).',
  },
} as const satisfies Record<string, Setting>

export const SITES = {
  BERTH_SITES_PORT: {
    group: 'Sites',
    type: PORT_OR_OFF,
    whenUnset: '`3002`',
    description:
      'The port of `berth sites`, on `HOST`: where visitors see sites. With `off` a Berth on a laptop starts no sites server: [deploying-sites.md](deploying-sites.md#sites-server).',
  },
  BERTH_SITES_CONTROL_PLANE: {
    group: 'Sites',
    type: ORIGIN,
    default: 'http://127.0.0.1:3001',
    description: 'Where `berth sites` reaches the control plane: its listener for proxies (`BERTH_EDGE_PORT`).',
  },
  BERTH_SITES_CACHE: {
    group: 'Sites',
    type: PATH,
    whenUnset: '`<BERTH_DATA>/sites`',
    description:
      'The directory in which one `berth sites` caches files of sites and its host index: [deploying-sites.md](deploying-sites.md#file-cache).',
  },
  BERTH_SITES_CACHE_BYTES: {
    group: 'Sites',
    type: BYTES,
    default: '10GiB',
    description: 'Limit on site files in that directory.',
  },
  BERTH_SITES_TOKEN: {
    group: 'Sites',
    type: TokenSetting(20),
    whenUnset: 'none: sites servers are refused',
    description:
      'Shared by the control plane and its sites servers: [deploying-sites.md](deploying-sites.md#data-of-the-sites-server).',
    secret: true,
  },
  BERTH_SITES_ADDRESS: {
    group: 'Sites',
    type: ORIGIN,
    whenUnset: 'none: proxies answer 404 for deployments with files',
    description:
      'The address of the sites server for proxies, for visitors of deployments with files: [edge.md](edge.md#sites).',
  },
} as const satisfies Record<string, Setting>

/** The listener for proxies and sites servers. docs/edge.md. */
export type EdgeSettings = {
  /** Undefined: off. */
  port: number | undefined
  /** Set explicitly, so a busy port is an error. */
  chosen: boolean
  token: string | undefined
  sitesToken: string | undefined
  /** Origin of the sites server, as proxies reach it. */
  sitesAddress: string | undefined
}

const EDGE_PORT = 3001

/** Returns the settings of the proxy listener. Throws BadSetting for equal tokens. */
export function edgeOf(values: {
  BERTH_EDGE_PORT: number | 'off' | undefined
  BERTH_EDGE_TOKEN: string | undefined
  BERTH_SITES_TOKEN: string | undefined
  BERTH_SITES_ADDRESS: string | undefined
}): EdgeSettings {
  const { BERTH_EDGE_PORT: port, BERTH_EDGE_TOKEN: token, BERTH_SITES_TOKEN: sitesToken } = values
  // The proxies' token is part of URLs, so it must not open the sites listener.
  if (token !== undefined && token === sitesToken)
    throw new BadSetting('BERTH_SITES_TOKEN must differ from BERTH_EDGE_TOKEN: it opens the files of all accounts')
  return {
    port: port === 'off' ? undefined : (port ?? EDGE_PORT),
    chosen: port !== undefined,
    token,
    sitesToken,
    sitesAddress: values.BERTH_SITES_ADDRESS,
  }
}

/** The sites server. `EdgeSettings` has its token. docs/deploying-sites.md: Sites server. */
export type SitesSettings = {
  /** Undefined: not started on a laptop. */
  port: number | undefined
  /** Origin of the control plane's listener for proxies. */
  controlPlane: string
  /** Cache directory. */
  folder: string
  cacheBytes: number
}

const SITES_PORT = 3002

/** Returns the settings of the sites server. */
export function sitesOf(values: ValuesOf<typeof SITES> & { BERTH_DATA: string }): SitesSettings {
  const { BERTH_SITES_PORT: port, BERTH_SITES_CONTROL_PLANE: controlPlane } = values
  const directory = values.BERTH_SITES_CACHE ?? join(values.BERTH_DATA, 'sites')
  const cacheBytes = values.BERTH_SITES_CACHE_BYTES
  return { port: port === 'off' ? undefined : (port ?? SITES_PORT), controlPlane, folder: directory, cacheBytes }
}
