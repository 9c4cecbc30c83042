/** The nftables rules of a sandbox with network. They are in its own network namespace, where no command has the right to change them. docs/sandbox.md. */
import ipaddr from 'ipaddr.js'
import type { HostNetwork } from './host-addresses.ts'

/** TABLE prefixes that are not public, each with the RFC or the use that reserves it. */
const REFUSED: readonly (readonly [prefix: string, reason: string])[] = [
  ['0.0.0.0/8', 'this host, RFC 791'],
  ['10.0.0.0/8', 'private, RFC 1918'],
  ['100.64.0.0/10', 'shared by carriers, RFC 6598'],
  ['127.0.0.0/8', 'loopback, RFC 1122'],
  ['169.254.0.0/16', 'link-local and cloud metadata, RFC 3927'],
  ['172.16.0.0/12', 'private, RFC 1918'],
  ['192.0.0.0/24', 'protocols, RFC 6890'],
  ['192.88.99.0/24', '6to4 relays, RFC 7526'],
  ['192.168.0.0/16', 'private, RFC 1918'],
  ['198.18.0.0/15', 'benchmarks, RFC 2544'],
  ['224.0.0.0/4', 'multicast, RFC 5771'],
  ['240.0.0.0/4', 'reserved and broadcast, RFC 1112'],
  // Only 2000::/3 is public. Outside it: ::1, ::ffff:0:0/96, NAT64 (64:ff9b::/96), fc00::/7, fe80::/10, ff00::/8.
  ['::/3', 'not global unicast, RFC 4291'],
  ['4000::/2', 'not global unicast, RFC 4291'],
  ['8000::/1', 'not global unicast, RFC 4291'],
  ['2001::/32', 'Teredo, embeds IPv4 addresses, RFC 4380'],
  ['2002::/16', '6to4, embeds IPv4 addresses, RFC 3056'],
]

/** The table of the rules: new addresses and networks of the host are added to its sets. */
const TABLE = 'inet berth'

const REJECT = 'reject with icmpx admin-prohibited'

/** How a sandbox uses UDP. `mapped`: from ports that the kernel chooses. `resolver`: to the resolver alone, where the kernel maps no ports. */
export type UdpRules = 'mapped' | 'resolver'

/** UDP ports of the host that sandboxes are mapped to. Above them, 10,000 of the ports that Linux gives out are left for the host itself. */
const MAPPED_PORTS = '32768-50999'

/** Those that Linux gives out. */
const GIVEN_PORTS = '32768-60999'

/** UDP connections that the kernel keeps for a sandbox, with 500 bytes each. */
export const MAX_CONNECTIONS = 2048
/** How long one without a second answer is kept. */
export const UDP_SECONDS = 15

/** Each is a port of the host, at which pasta may take the answer of another sandbox in the milliseconds until it is there. */
const NEW_CONNECTIONS = '200/second burst 512 packets'

/**
 * Returns the rules as a script for `nft -f`: public addresses over TCP and UDP, DNS at `dnsAddress` alone, and `allowed` prefixes although they are
 * private or next to the host. Addresses and gateways of the host are closed, also where they are public or allowed. Throws for a text that is not an
 * address or prefix.
 */
export function networkRules(
  host: HostNetwork,
  dnsAddress: string,
  allowed: readonly string[] = [],
  udp: UdpRules = 'mapped',
): string {
  const dns = addressText(dnsAddress)
  return `table ${TABLE} {
${sets('host', host.addresses)}
${sets('network', host.networks)}
${sets('allowed', allowed)}
${sets(
  'refused',
  REFUSED.map(([prefix]) => prefix),
)}
  chain output {
    type filter hook output priority 0; policy drop;
    oifname "lo" accept
    meta l4proto ipv6-icmp icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept
${udp === 'mapped' ? KNOWN : toResolver(dns)}    ip daddr ${dns} meta l4proto { tcp, udp } th dport 53 accept
    ip daddr ${dns} ${REJECT}
    ip daddr @host4 ${REJECT}
    ip6 daddr @host6 ${REJECT}
    ip daddr @allowed4 meta l4proto { tcp, udp } accept
    ip6 daddr @allowed6 meta l4proto { tcp, udp } accept
    ip daddr @network4 ${REJECT}
    ip6 daddr @network6 ${REJECT}
    ip daddr @refused4 ${REJECT}
    ip6 daddr @refused6 ${REJECT}
    meta l4proto { tcp, udp } accept
    ${REJECT}
  }
${udp === 'mapped' ? MAPPED : fromResolver(dns)}}
`
}

/** The kernel does not map what it cannot read as part of a connection. */
const KNOWN = '    meta l4proto udp ct state invalid drop\n'

/**
 * Pasta sends from the port of a packet, on the host. So no command chooses that port, and only answers come in. The kernel keeps
 * connections of UDP alone. A nat chain sees the first packet of each.
 */
const MAPPED = `  chain untracked_output {
    type filter hook output priority raw;
    oifname "lo" notrack
    meta l4proto tcp notrack
  }
  chain untracked_input {
    type filter hook prerouting priority raw;
    iifname "lo" notrack
    meta l4proto tcp notrack
  }
  chain ports {
    type nat hook postrouting priority srcnat;
    meta l4proto udp limit rate over ${NEW_CONNECTIONS} drop
    meta l4proto udp ct count over ${MAX_CONNECTIONS} drop
    meta l4proto udp masquerade to :${MAPPED_PORTS} fully-random
  }
  chain input {
    type filter hook input priority 0;
    iifname "lo" accept
    meta l4proto udp ct state != established drop
  }
`

/** No port at which a service of the host listens. */
function toResolver(dns: string): string {
  return `    ip daddr ${dns} udp sport ${GIVEN_PORTS} udp dport 53 accept
    meta l4proto udp ${REJECT}
`
}

function fromResolver(dns: string): string {
  return `  chain input {
    type filter hook input priority 0;
    iifname "lo" accept
    ip saddr ${dns} udp sport 53 accept
    meta l4proto udp drop
  }
`
}

/** Returns the words of `nft` that add an address or a network of the host to the rules while they are in force. Throws for a text that is neither. */
export function addToRules(set: 'host' | 'network', prefix: string): string[] {
  const text = prefixText(prefix)
  return ['add', 'element', ...TABLE.split(' '), `${set}${familyOf(text)}`, '{', text, '}']
}

function sets(name: string, prefixes: readonly string[]): string {
  const texts = prefixes.map(prefixText)
  return [4, 6]
    .map((family) => {
      const own = texts.filter((text) => familyOf(text) === family)
      const elements = own.length === 0 ? '' : ` elements = { ${[...new Set(own)].join(', ')} }`
      return `  set ${name}${family} { type ipv${family}_addr; flags interval; auto-merge;${elements} }`
    })
    .join('\n')
}

function familyOf(text: string): 4 | 6 {
  return text.includes(':') ? 6 : 4
}

/** Written by the library and not by the caller, so that no text can be a rule of its own. */
function addressText(text: string): string {
  return ipaddr.parse(text.split('%', 1)[0]!).toString()
}

function prefixText(text: string): string {
  if (!text.includes('/')) return addressText(text)
  const [address, bits] = ipaddr.parseCIDR(text)
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6
  return `${family.networkAddressFromCIDR(text).toString()}/${bits}`
}
