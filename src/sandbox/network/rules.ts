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

/**
 * Returns the rules as a script for `nft -f`: public addresses over TCP and UDP, DNS at `dnsAddress` alone, and `allowed` prefixes although they are
 * private or next to the host. Addresses and gateways of the host are closed, also where they are public or allowed. Throws for a text that is not an
 * address or prefix.
 */
export function networkRules(host: HostNetwork, dnsAddress: string, allowed: readonly string[] = []): string {
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
    ip daddr ${addressText(dnsAddress)} meta l4proto { tcp, udp } th dport 53 accept
    ip daddr ${addressText(dnsAddress)} ${REJECT}
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
