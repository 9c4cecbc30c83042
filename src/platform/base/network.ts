/** Networks of addresses. docs/limits.md. */
import { type BlockList, isIP } from 'node:net'
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

/** Proxies in a row before us: nobody has more. */
const MAX_HOPS = 32

/** Whether an address is one of the trusted proxies. */
export function isTrusted(proxies: BlockList | undefined, address: string): boolean {
  if (proxies === undefined) return false
  const bare = plainAddress(address)
  const family = isIP(bare)
  return family !== 0 && proxies.check(bare, family === 4 ? 'ipv4' : 'ipv6')
}

/**
 * The address of a client: that of the connection, and behind trusted proxies the last entry of `X-Forwarded-For` that is none of them. Each
 * proxy adds at the end whom it was asked by, so nothing on its left is believed: a client wrote it. Where an entry is no address, the
 * proxy that gave it stands for its clients. docs/limits.md: Behind a proxy.
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

/** IPv4 in IPv6 as IPv4, as lists of proxies and people write it. */
export function plainAddress(address: string): string {
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  if (entry.length > 60) return ''
  const [, v6, v4] = /^(?:\[([^\]]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry) ?? []
  return v6 ?? v4 ?? entry
}

/** Whether a host, as in a URL or a setting, is an address or a name that is always this machine (RFC 6761 6.3). */
export function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (isIP(name) !== 0) return ipaddr.process(name).range() === 'loopback'
  return name === 'localhost' || name.endsWith('.localhost')
}
