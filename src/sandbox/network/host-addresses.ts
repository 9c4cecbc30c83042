/** Which addresses and networks this host has, and which address its sandboxes send DNS to. */
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Reserved for documentation (RFC 5737): no service is there, and the private ranges do not hold them. */
const FORWARD_ADDRESSES = ['203.0.113.253', '192.0.2.53', '198.51.100.53']

/** Flags of the kernel: of a route that refuses, of one to the host itself, and of a device without neighbors, such as a tunnel. */
const [RTF_REJECT, RTF_LOCAL_OR_ANYCAST, IFF_NOARP] = [0x200, 0x80100000, 0x80]

/** What sandboxes do not reach of a host and next to it. */
export type HostNetwork = {
  /** What it answers at, also on loopback and on cards that are down, and the next hop of each route. */
  addresses: readonly string[]
  /** Those that it reaches without a next hop. */
  networks: readonly string[]
}

/** Returns what sandboxes do not reach of this host and next to it. */
export function hostNetwork(): HostNetwork {
  const routes6 = tryRead('/proc/net/ipv6_route')
  const { gateways, networks } = routesOf(tryRead('/proc/net/route'), routes6, hasNeighbors)
  const local = localOf(tryRead('/proc/net/fib_trie'), routes6)
  const addresses = new Set([...interfaces().map(({ address }) => address), ...local, ...gateways])
  return { addresses: [...addresses], networks }
}

/**
 * Returns the addresses and prefixes that the host itself answers at, in the texts of `/proc/net/fib_trie` and `/proc/net/ipv6_route`. An address of
 * loopback can be public, and a card that is down keeps its own. Pure.
 */
export function localOf(trie4: string, routes6: string): string[] {
  const local = []
  let address = ''
  for (const [first, second, third] of rowsOf(trie4)) {
    if (first === '|--') address = second!
    else if (third === 'LOCAL') local.push(`${address}${first}`)
  }
  for (const [to, length, , , , , , , flags] of rowsOf(routes6))
    if ((Number.parseInt(flags!, 16) & RTF_LOCAL_OR_ANYCAST) !== 0)
      local.push(`${ipv6Of(to!)}/${Number.parseInt(length!, 16)}`)
  // A route of all addresses to the host is for a transparent proxy.
  const prefixes = local.filter((text) => !text.endsWith('/0'))
  return [...new Set(prefixes.map((text) => text.replace(text.includes(':') ? /\/128$/ : /\/32$/, '')))]
}

/**
 * Returns the next hops, and the networks without one, in the texts of `/proc/net/route` and `/proc/net/ipv6_route`. `isShared`: whether a device
 * has neighbors. Pure.
 */
export function routesOf(
  routes4: string,
  routes6: string,
  isShared: (device: string) => boolean,
): { gateways: string[]; networks: string[] } {
  const four = rowsOf(routes4)
    .slice(1)
    .map(([device, address, gateway, flags, , , , mask]) => {
      const bits = ipv4Of(mask!).prefixLengthFromSubnetMask() ?? 0
      return { device: device!, address: ipv4Of(address!), bits, gateway: ipv4Of(gateway!), flags: flags! }
    })
  const six = rowsOf(routes6).map(([address, length, , , gateway, , , , flags, device]) => {
    const bits = Number.parseInt(length!, 16)
    return { device: device!, address: ipv6Of(address!), bits, gateway: ipv6Of(gateway!), flags: flags! }
  })
  const routes = [...four, ...six].filter(({ flags }) => (Number.parseInt(flags, 16) & RTF_REJECT) === 0)
  const direct = routes
    .filter(({ gateway, device }) => isZero(gateway) && isShared(device))
    // A default route without a next hop is all of the internet, and a single address is one neighbor.
    .filter(({ address, bits }) => bits > 0 && bits < 8 * address.toByteArray().length)
  return {
    gateways: [...new Set(routes.filter(({ gateway }) => !isZero(gateway)).map(({ gateway }) => gateway.toString()))],
    networks: [...new Set(direct.map(({ address, bits }) => `${address}/${bits}`))],
  }
}

function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => line.trim().split(/\s+/))
}

/** The kernel prints the number of a little-endian word. */
function ipv4Of(hex: string): ipaddr.IPv4 {
  return new ipaddr.IPv4([...Buffer.from(hex, 'hex')].reverse())
}

function ipv6Of(hex: string): ipaddr.IPv6 {
  return new ipaddr.IPv6([...Buffer.from(hex, 'hex')])
}

function isZero(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.toByteArray().every((byte) => byte === 0)
}

/** Also of a device that is not known. */
function hasNeighbors(device: string): boolean {
  return (Number(tryRead(`/sys/class/net/${device}/flags`)) & IFF_NOARP) === 0
}

/** Returns the resolvers of this host. */
export function hostResolvers(): string[] {
  return resolversOf(tryRead('/etc/resolv.conf'))
}

/** Returns the resolvers in the text of `/etc/resolv.conf`. Pure. */
export function resolversOf(text: string): string[] {
  return [...text.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map(([, address]) => address!)
}

/** Returns the address that pasta forwards to the resolver of the host. Throws where the networks of the host hold all of those it can be. */
export function forwardAddress(prefixes = interfaces().map(({ cidr }) => cidr)): string {
  const own = prefixes.flatMap((cidr) => (cidr === null || cidr.includes(':') ? [] : [ipaddr.IPv4.parseCIDR(cidr)]))
  const free = FORWARD_ADDRESSES.find((text) => !own.some((prefix) => ipaddr.IPv4.parse(text).match(prefix)))
  if (free === undefined) throw new Error(`this host has networks that hold each of ${FORWARD_ADDRESSES.join(', ')}`)
  return free
}

function interfaces() {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).filter(({ internal }) => !internal))
}

/** A kernel without IPv6, a host without resolvers, or another name of a device has no such file. */
function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
