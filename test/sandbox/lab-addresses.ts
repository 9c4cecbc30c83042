/** What a command with network can try to reach in test/sandbox/lab.ts. docs/sandbox.md: Network. */

/** Who reaches an address: with everything that keeps a command in, without the rules, and without a sandbox. */
export type Reach = 'sandboxed' | 'without rules' | 'host'
export const [INTERNET_PORT, HOST_PORT] = [80, 3000]

/** TABLE the addresses of the lab, and the first of the three that reaches each. */
export const ADDRESSES: readonly (readonly [what: string, address: string, port: number, reach: Reach])[] = [
  ['public', '192.88.7.7', INTERNET_PORT, 'sandboxed'],
  ['public, IPv6', '2001:db8:2::80', INTERNET_PORT, 'sandboxed'],
  ['loopback', '127.0.0.1', HOST_PORT, 'host'],
  ['loopback, IPv6', '::1', HOST_PORT, 'host'],
  ['unspecified', '0.0.0.0', HOST_PORT, 'host'],
  ['loopback, mapped', '::ffff:127.0.0.1', HOST_PORT, 'host'],
  ['first of the host', '198.51.100.2', HOST_PORT, 'host'],
  ['second of the host', '198.51.100.3', HOST_PORT, 'without rules'],
  ['second card of the host', '203.0.113.9', HOST_PORT, 'without rules'],
  ['second of the host, mapped', '::ffff:198.51.100.3', HOST_PORT, 'without rules'],
  ['IPv6 of the host', '2001:db8:1::2', HOST_PORT, 'without rules'],
  ['private, of the host', '10.9.0.5', HOST_PORT, 'without rules'],
  ['bridge of containers', '172.17.0.1', HOST_PORT, 'without rules'],
  ['link-local of the host', 'LINK_LOCAL', HOST_PORT, 'without rules'],
  ['of loopback, public', '192.88.9.78', HOST_PORT, 'without rules'],
  ['of loopback, public, IPv6', '2001:db8:9::1', HOST_PORT, 'without rules'],
  ['of a card that is down', '192.88.10.1', HOST_PORT, 'without rules'],
  ['of a prefix that the host answers at', '192.88.12.5', HOST_PORT, 'without rules'],
  ['gateway', '198.51.100.1', INTERNET_PORT, 'without rules'],
  ['gateway, IPv6', '2001:db8:1::1', INTERNET_PORT, 'without rules'],
  ['next to the host', '198.51.100.7', INTERNET_PORT, 'without rules'],
  ['next to the host, IPv6', '2001:db8:1::7', INTERNET_PORT, 'without rules'],
  ['10/8', '10.9.9.9', INTERNET_PORT, 'without rules'],
  ['10/8, mapped', '::ffff:10.9.9.9', INTERNET_PORT, 'without rules'],
  ['172.16/12', '172.16.7.7', INTERNET_PORT, 'without rules'],
  ['192.168/16', '192.168.7.7', INTERNET_PORT, 'without rules'],
  ['100.64/10', '100.64.7.7', INTERNET_PORT, 'without rules'],
  ['metadata', '169.254.169.254', INTERNET_PORT, 'without rules'],
  ['metadata, IPv6', 'fd00:ec2::254', INTERNET_PORT, 'without rules'],
  ['unique local', 'fd12::7', INTERNET_PORT, 'without rules'],
  ['NAT64', '64:ff9b::a09:909', INTERNET_PORT, 'without rules'],
  ['6to4', '2002:a09:909::1', INTERNET_PORT, 'without rules'],
  ['public by name', 'good.test', INTERNET_PORT, 'sandboxed'],
  ['private by name', 'private.test', INTERNET_PORT, 'without rules'],
  ['metadata by name', 'metadata.test', INTERNET_PORT, 'without rules'],
  ['host by name', 'host.test', HOST_PORT, 'without rules'],
]

/** A new IPv6 address is not used before the kernel has looked for another one like it. */
export const AWAIT_IPV6 = `import time
until = time.time() + 10
while time.time() < until and any(int(line.split()[4], 16) & 0x40 for line in open('/proc/net/if_inet6')): time.sleep(0.05)`

/** Prints the indexes of the addresses that answer over TCP, over UDP, the public one over ICMP, and an abstract socket of the host. */
export const probe = (addresses: readonly (readonly [address: string, port: number])[]) => `python3 - <<'END'
import socket
${AWAIT_IPV6}
def tried(kind, address, port):
  try:
    family, _, _, _, target = socket.getaddrinfo(address, port, type=kind)[0]
    s = socket.socket(family, kind)
    s.settimeout(2)
    if kind == socket.SOCK_STREAM: s.connect(target)
    # Not connected: a service of several addresses may answer from another one.
    else: s.sendto(b'x', target)
    return s.recv(10) != b''
  except OSError: return False
addresses = ${JSON.stringify(addresses)}
for name, kind in (('tcp', socket.SOCK_STREAM), ('udp', socket.SOCK_DGRAM)):
  print(name, *[at for at, (address, port) in enumerate(addresses) if tried(kind, address, port if name == 'tcp' else 9999)])
def echo(address):
  try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
    s.settimeout(2)
    s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]), (address, 0))
    return s.recv(100) != b''
  except OSError: return False
def abstract():
  try:
    s = socket.socket(socket.AF_UNIX)
    s.connect(chr(0) + 'berth-lab')
    return s.recv(10) != b''
  except OSError: return False
print('icmp', 'reached' if echo('192.88.7.7') else 'refused')
print('abstract', 'reached' if abstract() else 'refused')
END
`

/** Returns what was reached, by the names of the addresses. */
export function readProbe(output: string) {
  const of = (name: string) =>
    output
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.split(' ')
      .slice(1) ?? []
  const named = (name: string) => of(name).map((at) => ADDRESSES[Number(at)]![0])
  return { tcp: named('tcp'), udp: named('udp'), icmp: of('icmp')[0], abstract: of('abstract')[0] }
}
