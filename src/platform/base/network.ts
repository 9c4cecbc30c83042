/** Client addresses and networks. docs/limits.md. */
import { type BlockList, isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Returns the network that limits count: the /64 of an IPv6 address, because one client usually has all of it, or the IPv4 address. Empty for a text
 * that is not an address.
 */
export function networkOf(text: string): string {
  if (isIP(text) === 0) return ''
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return address.toString()
  const groups = (address as ipaddr.IPv6).parts.slice(0, 4)
  return `${groups.map((group) => group.toString(16)).join(':')}::/64`
}

const MAX_HOPS = 32

/** Whether an address is a trusted proxy. */
export function isTrusted(proxies: BlockList | undefined, address: string): boolean {
  if (proxies === undefined) return false
  const bare = plainAddress(address)
  const family = isIP(bare)
  return family !== 0 && proxies.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * Returns the client address: that of the connection, or behind trusted proxies the last untrusted entry of `X-Forwarded-For`. Entries left of it
 * come from the client. An entry that is not an address stands for the proxy that sent it. docs/limits.md: Behind a proxy.
 */
export function clientAddress(connection: string, forwarded: string, proxies: BlockList | undefined): string {
  let client = plainAddress(connection)
  const entries = isTrusted(proxies, client) ? forwarded.split(',') : []
  for (let hops = 0; hops < MAX_HOPS && isTrusted(proxies, client); hops++) {
    const before = withoutPort(entries.pop()?.trim() ?? '')
    if (isIP(before) === 0) break
    client = plainAddress(before)
  }
  return client
}

/** IPv4 in IPv6 as IPv4, as lists of proxies and users write it. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.length > 60) return ''
  const [, v6, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry) ?? []
  return v6 ?? v4 ?? entry
}

/** Whether a host is always this machine, as an address or a name (RFC 6761 6.3). */
export function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (isIP(name) !== 0) return ipaddr.process(name).range() === 'loopback'
  return name === 'localhost' || name.endsWith('.localhost')
}
