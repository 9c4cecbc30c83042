/** Which addresses this host has, and which address its sandboxes send DNS to. */
import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Reserved for documentation (RFC 5737): no service is there, and the private ranges do not hold them. */
const FORWARD_ADDRESSES = ['203.0.113.253', '192.0.2.53', '198.51.100.53']

/** Returns every address of the network interfaces of this host, without those of loopback, which are never reached. */
export function hostAddresses(): string[] {
  return interfaces().map(({ address }) => address)
}

/** Returns the next hop of every route of this host. */
export function hostGateways(): string[] {
  return gatewaysOf(tryRead('/proc/net/route'), tryRead('/proc/net/ipv6_route'))
}

/** Returns the next hops in the texts of `/proc/net/route` and `/proc/net/ipv6_route`. Pure. */
export function gatewaysOf(routes4: string, routes6: string): string[] {
  const four = routes4
    .split('\n')
    .slice(1)
    .flatMap((line) => line.split('\t')[2] ?? [])
    // The kernel prints the number of a little-endian word.
    .map((hex) => [...Buffer.from(hex, 'hex')].reverse().join('.'))
  const six = routes6
    .split('\n')
    .flatMap((line) => line.split(/\s+/)[4] ?? [])
    .map((hex) => ipaddr.fromByteArray([...Buffer.from(hex, 'hex')]).toString())
  return [...new Set([...four, ...six])].filter((address) => !['0.0.0.0', '', '::'].includes(address))
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

/** A kernel without IPv6, or a host without resolvers, has no such file. */
function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
