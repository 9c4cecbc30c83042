/** Networks of addresses. docs/limits.md. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * The network by which an address is counted: of IPv6 the /64, because its owner has all of it; of IPv4 the address itself, in whatever
 * spelling. Empty for a text that is no address.
 */
export function networkOf(text: string): string {
  if (isIP(text) === 0) return ''
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return address.toString()
  const groups = (address as ipaddr.IPv6).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

/** Whether a host, as in a URL or a setting, is an address or a name that is always this machine (RFC 6761 6.3). */
export function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (isIP(name) !== 0) return ipaddr.process(name).range() === 'loopback'
  return name === 'localhost' || name.endsWith('.localhost')
}
