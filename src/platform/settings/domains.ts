/** What settings of domains and resolvers may be. docs/domains.md. */
import { isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { BadSetting, type SettingType, splitCommaList } from './types.ts'

/** At most so many names in one setting. */
const MAX_NAMES = 10_000

/** What the names of sites on a laptop end in: browsers and curl find such names on the machine itself. */
export const LAPTOP_SUFFIX = 'berth.localhost'

/** One domain name; undefined where the text holds none, such as `,`. */
export const DOMAIN: SettingType<string | undefined> = {
  values: 'a domain name',
  read: (name, text) => readDomains(name, text, 1)[0],
}

export const DOMAINS: SettingType<string[]> = {
  values: 'domain names, comma-separated',
  read: (name, text) => readDomains(name, text, MAX_NAMES),
}

/** Names in the form in which domains are compared. A leading `*.` or dot means what the name alone means. */
function readDomains(name: string, text: string, most: number): string[] {
  const domains = splitCommaList(text).map((domain) =>
    domainToASCII(
      domain
        .replace(/^\*?\./, '')
        .replace(/\.$/, '')
        .toLowerCase(),
    ),
  )
  const good = domains.every((domain) => /^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain)) && domains.length <= most
  if (!good)
    throw new BadSetting(
      `${name} must be ${most === 1 ? 'a domain name' : 'domain names, comma-separated'}, not "${text}"`,
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

/** Addresses only: a resolver that is given by its name would need another resolver. Undefined where the text holds none. */
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
