/** Which network addresses a request that others asked for may go to. docs/spec/reliability.md 2f. */
import ipaddr from 'ipaddr.js'

/** The part of IPv6 that is given out to the world. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * True for an address of the public internet: not private, loopback, link-local, shared, reserved, nor a way into one of those. An address that
 * holds others, as those that DNS64 makes, is judged by all that it holds. docs/decisions/0058-egress.md.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  // What IPv4 looks like within IPv6 (::ffff:1.2.3.4) is IPv4 by now.
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return address.range() === 'unicast'
  const held = addressesIn(address as ipaddr.IPv6)
  if (held !== undefined) return held.every((one) => one.range() === 'unicast')
  return address.range() === 'unicast' && (address as ipaddr.IPv6).match(GLOBAL_V6)
}

/** By the prefix, where the address holds an address of IPv4: in which two of its eight parts, and what it is mixed with. */
const HOLDING: { prefix: [ipaddr.IPv6, number]; parts: [number, mask: number][] }[] = [
  // NAT64 (RFC 6052 2.1). A network's own prefix below 64:ff9b:1::/48 holds it in a place that only the network knows: it is not public.
  { prefix: ipaddr.IPv6.parseCIDR('64:ff9b::/96'), parts: [[6, 0]] },
  // 6to4 (RFC 3056 2).
  { prefix: ipaddr.IPv6.parseCIDR('2002::/16'), parts: [[1, 0]] },
  // Teredo (RFC 4380 4): its server, and the client with every bit turned.
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
