/** What the operator decides about names and who is asked for them. docs/domains.md. */
import { isIP, isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { BadSetting, listed, readChoice, readPattern } from './read.ts'

/** What the operator decides about names. docs/domains.md. */
export type DomainSettings = {
  proof: 'always' | 'contested'
  /** Names directly under it need no proof. */
  platformSuffix: string | undefined
  /** These, and all under them, are refused. */
  denied: string[]
  /** Where Berth itself is reached. They, and wildcards over them, are nobody's to claim. */
  ownNames: string[]
  /** Top-level domains reserved for special use that are taken nevertheless. */
  specialUse: string[]
  challengeLabel: string
  challengePrefix: string
  /** Where a domain should point; unknown when not set. */
  edgeCname: string | undefined
  edgeIpv4: string[]
}

/** `ownUrl`: how people and proxies reach Berth. Throws BadSetting. */
export function readDomainSettings(
  env: Record<string, string | undefined>,
  ownUrl: string | undefined,
): DomainSettings {
  const [platformSuffix] = readHosts('BERTH_PLATFORM_SUFFIX', env.BERTH_PLATFORM_SUFFIX, 1)
  const [edgeCname] = readHosts('BERTH_EDGE_CNAME', env.BERTH_EDGE_CNAME, 1)
  const edgeIpv4 = listed(env.BERTH_EDGE_IPV4)
  const wrong = edgeIpv4.find((address) => !isIPv4(address))
  if (wrong !== undefined)
    throw new BadSetting(`BERTH_EDGE_IPV4 must be IPv4 addresses, comma-separated, not "${wrong}"`)
  return {
    proof: readChoice('BERTH_DOMAIN_PROOF', env.BERTH_DOMAIN_PROOF, ['always', 'contested'], 'always') as
      | 'always'
      | 'contested',
    platformSuffix,
    denied: readHosts('BERTH_DENIED_DOMAINS', env.BERTH_DENIED_DOMAINS),
    ownNames: [URL.parse(ownUrl ?? '')?.hostname.replace(/\.$/, ''), edgeCname, platformSuffix].filter(
      (name) => name !== undefined,
    ),
    specialUse: readHosts('BERTH_SPECIAL_USE_DOMAINS', env.BERTH_SPECIAL_USE_DOMAINS),
    challengeLabel: readPattern('BERTH_CHALLENGE_LABEL', env.BERTH_CHALLENGE_LABEL, /^_?[a-z0-9-]{1,62}$/, '_berth'),
    challengePrefix: readPattern(
      'BERTH_CHALLENGE_PREFIX',
      env.BERTH_CHALLENGE_PREFIX,
      /^[a-z0-9-]{1,63}$/,
      'berth-domain-verify',
    ),
    edgeCname,
    edgeIpv4,
  }
}

/** `host:port,host`, addresses only: a resolver that had to be resolved first would need another. */
export function readDnsServers(text: string | undefined): string[] | undefined {
  const servers = listed(text)
  for (const server of servers) {
    const [, v6, v4, port = '53'] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(server) ?? []
    const isAddress = isIP(v6 ?? '') === 6 || isIP(v4 ?? '') === 4 || isIP(server) === 6
    if (!isAddress || Number(port) > 65_535)
      throw new BadSetting(`BERTH_DNS_SERVERS must be addresses such as 127.0.0.1:53 or [::1]:53, not "${server}"`)
  }
  return servers.length === 0 ? undefined : servers
}

/** Host names, in the form in which domains are compared. A leading `*.` or dot means what the name alone means. */
function readHosts(name: string, text: string | undefined, most = 10_000): string[] {
  const hosts = listed(text).map((host) =>
    domainToASCII(
      host
        .replace(/^\*?\./, '')
        .replace(/\.$/, '')
        .toLowerCase(),
    ),
  )
  const good = hosts.every((host) => /^(?!-)[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(host)) && hosts.length <= most
  if (!good)
    throw new BadSetting(
      `${name} must be ${most === 1 ? 'a domain name' : 'domain names, comma-separated'}, not "${text}"`,
    )
  return hosts
}
