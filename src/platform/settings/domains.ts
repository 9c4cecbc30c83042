/** Types of domain and resolver settings. docs/domains.md. */
import { isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { BadSetting, BooleanSetting, type Setting, type SettingType, splitCommaList } from './types.ts'

const MAX_NAMES = 10_000

/** Suffix of sites on a laptop, which browsers and curl resolve to the machine itself. */
export const LAPTOP_SUFFIX = 'berth.localhost'

/** One domain name; undefined for a text without one, such as `,`. */
export const DOMAIN: SettingType<string | undefined> = {
  values: 'a domain name',
  read: (name, text) => readDomains(name, text, 1)[0],
}

export const DOMAINS: SettingType<string[]> = {
  values: 'domain names, comma-separated',
  read: (name, text) => readDomains(name, text, MAX_NAMES),
}

/** Parses names in canonical form. A leading `*.` or dot is dropped. */
function readDomains(name: string, text: string, max: number): string[] {
  const domains = splitCommaList(text).map((domain) =>
    domainToASCII(
      domain
        .replace(/^\*?\./, '')
        .replace(/\.$/, '')
        .toLowerCase(),
    ),
  )
  const good = domains.every((domain) => /^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) && domains.length <= max
  if (!good)
    throw new BadSetting(
      `${name} must be ${max === 1 ? 'a domain name' : 'domain names, comma-separated'}, not "${text}"`,
    )
  return domains
}

export const IPV4_ADDRESSES: SettingType<string[]> = {
  values: 'IPv4 addresses, comma-separated',
  read(name, text) {
    const addresses = splitCommaList(text)
    const wrong = addresses.find((address) => !isIPv4(address))
    if (wrong !== undefined) throw new BadSetting(`${name} must be IPv4 addresses, comma-separated, not "${wrong}"`)
    return addresses
  },
}

/** Addresses only, because a name would need another resolver. Undefined for a text without one. */
export const RESOLVERS: SettingType<string[] | undefined> = {
  values: '`address:port`, comma-separated; the port is 53 by default',
  read(name, text) {
    const servers = splitCommaList(text)
    for (const server of servers) {
      const [, v6, v4, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server) ?? []
      const isAddress = isIP(v6 ?? '') === 6 || isIP(v4 ?? '') === 4 || isIP(server) === 6
      if (!isAddress || Number(port) > 65_535)
        throw new BadSetting(`${name} must be addresses such as 127.0.0.1:53 or [::1]:53, not "${server}"`)
    }
    return servers.length === 0 ? undefined : servers
  },
}

export const PLATFORM_SUFFIX = {
  BERTH_PLATFORM_SUFFIX: {
    group: 'Domains',
    type: DOMAIN,
    whenUnset: 'none',
    description:
      'Deployments of uploaded files, their branches and production get addresses below this domain; if unset, below `berth.localhost`. Other names directly under it need no verification; the first account that adds one gets it.',
  },
  BERTH_PLATFORM_SUFFIX_SHARED: {
    group: 'Domains',
    type: BooleanSetting(['0', '1'], '1'),
    default: '0',
    description:
      'With `1` the suffix may be below the domain of `BERTH_PUBLIC_URL`, without a warning: [deploying-sites.md](deploying-sites.md#cookies).',
  },
} as const satisfies Record<string, Setting>
