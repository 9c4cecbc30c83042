/** Network addresses that outgoing requests of users may reach. docs/spec/reliability.md 2f. */
import ipaddr from 'ipaddr.js'

/** The allocated global unicast range of IPv6. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * Returns whether an address is on the public internet: not private, loopback, link-local, shared or reserved. An address that embeds others, such as
 * one of DNS64, needs all of them to be public. docs/decisions/0058-egress.md.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  // IPv4-mapped IPv6 (::ffff:1.2.3.4) is IPv4 here.
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return address.range() === 'unicast'
  const held = addressesIn(address as ipaddr.IPv6)
  if (held !== undefined) return held.every((address) => address.range() === 'unicast')
  return address.range() === 'unicast' && (address as ipaddr.IPv6).match(GLOBAL_V6)
}

/** IPv6 prefixes that embed an IPv4 address: in which two of the eight parts, and the XOR mask. */
const HOLDING: { prefix: [ipaddr.IPv6, number]; parts: [number, mask: number][] }[] = [
  // NAT64 (RFC 6052 2.1). A network-specific prefix below 64:ff9b:1::/48 embeds it at an unknown position: not public.
  { prefix: ipaddr.IPv6.parseCIDR('64:ff9b::/96'), parts: [[6, 0]] },
  // 6to4 (RFC 3056 2).
  { prefix: ipaddr.IPv6.parseCIDR('2002::/16'), parts: [[1, 0]] },
  // Teredo (RFC 4380 4): its server, and the client with inverted bits.
  {
    prefix: ipaddr.IPv6.parseCIDR('2001::/32'),
    parts: [
      [2, 0],
      [6, 0xffff],
    ],
  },
]

function addressesIn(address: ipaddr.IPv6): ipaddr.IPv4[] | undefined {
  const holding = HOLDING.find(({ prefix }) => address.match(prefix))
  return holding?.parts.map(([at, mask]) => {
    const bytes = [0, 1].map((next) => address.parts[at + next]! ^ mask).flatMap((part) => [part >> 8, part & 0xff])
    return new ipaddr.IPv4(bytes)
  })
}
