/** Which network addresses a request that others asked for may go to. docs/spec/reliability.md 2f. */
import ipaddr from 'ipaddr.js'

/** The part of IPv6 that is given out to the world. */
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** True for an address of the public internet: not private, loopback, link-local, shared, reserved, nor a way into one of those. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_V6)
}
