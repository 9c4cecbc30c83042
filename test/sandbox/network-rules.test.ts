/** The rules of the network, as a pure function of the addresses of the host. docs/sandbox.md: Network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forwardAddress, localOf, resolversOf, routesOf } from '../../src/sandbox/network/host-addresses.ts'
import { addToRules, networkRules } from '../../src/sandbox/network/rules.ts'
import { unmapped } from '../../src/sandbox/network/udp.ts'

const NOTHING = { addresses: [], networks: [] }
const RULES = networkRules(
  {
    addresses: ['198.51.100.2', '2001:db8:1::2', 'fe80::1%eth0', '198.51.100.1'],
    networks: ['198.51.100.0/24', '2001:db8:1::/64'],
  },
  '203.0.113.253',
  ['10.1.2.3', '10.2.0.0/16', 'fd12::/64'],
)

/** Where a line with these words is. */
function lineOf(words: string): number {
  const at = RULES.split('\n').findIndex((line) => line.includes(words))
  assert.notEqual(at, -1, words)
  return at
}

test('addresses, gateways and networks of the host are in sets, by family', () => {
  assert.match(RULES, /set host4 \{.*elements = \{ 198\.51\.100\.2, 198\.51\.100\.1 \}/)
  assert.match(RULES, /set host6 \{.*elements = \{ 2001:db8:1::2, fe80::1 \}/)
  assert.match(RULES, /set network4 \{.*elements = \{ 198\.51\.100\.0\/24 \}/)
  assert.match(RULES, /set network6 \{.*elements = \{ 2001:db8:1::\/64 \}/)
  assert.match(RULES, /set allowed4 \{.*elements = \{ 10\.1\.2\.3, 10\.2\.0\.0\/16 \}/)
  assert.match(RULES, /set allowed6 \{.*elements = \{ fd12::\/64 \}/)
  assert.doesNotMatch(networkRules(NOTHING, '203.0.113.253'), /elements = \{ +\}/)
  const named = networkRules(NOTHING, '203.0.113.253', ['10.2.3.4/16', 'fd12::5/64'])
  assert.match(named, /\{ 10\.2\.0\.0\/16 \}[\s\S]*\{ fd12::\/64 \}/)
})

test('the host is closed before what is allowed is opened, and that before its networks and private ones are closed', () => {
  const order = [
    'udp ct state invalid drop',
    'th dport 53 accept',
    '@host4 reject',
    '@allowed4',
    '@network4 reject',
    '@refused4 reject',
    'meta l4proto { tcp, udp } accept',
  ]
  const lines = order.slice(0, -1).map(lineOf)
  const last = RULES.split('\n').findLastIndex((line) => line.includes(order.at(-1)!))
  assert.deepEqual(
    [...lines, last],
    [...lines, last].toSorted((a, b) => a - b),
  )
  assert.match(RULES, /policy drop;/)
  assert.match(RULES, /reject with icmpx admin-prohibited\n {2}\}\n {2}chain untracked/)
})

test('UDP leaves from a port that the kernel chooses, as one of a number of connections, and only answers come in', () => {
  const chains = RULES.split(/^ {2}chain /m).slice(2)
  assert.deepEqual(
    chains.map((chain) => chain.replace(/^ +|[\n }]+$/gm, '').split('\n')),
    [
      [
        'untracked_output {',
        'type filter hook output priority raw;',
        'oifname "lo" notrack',
        'meta l4proto tcp notrack',
      ],
      [
        'untracked_input {',
        'type filter hook prerouting priority raw;',
        'iifname "lo" notrack',
        'meta l4proto tcp notrack',
      ],
      [
        'ports {',
        'type nat hook postrouting priority srcnat;',
        'meta l4proto udp limit rate over 200/second burst 512 packets drop',
        'meta l4proto udp ct count over 2048 drop',
        'meta l4proto udp masquerade to :32768-50999 fully-random',
      ],
      [
        'input {',
        'type filter hook input priority 0;',
        'iifname "lo" accept',
        'meta l4proto udp ct state != established drop',
      ],
    ],
  )
})

test('where the kernel maps no ports, UDP is for the resolver alone, and the operator reads what to do', () => {
  const rules = networkRules(NOTHING, '203.0.113.253', ['10.1.2.3'], 'resolver')
  assert.doesNotMatch(rules, /\bct |masquerade|notrack/)
  const [, output, input] = rules.split(/^ {2}chain /m)
  const order = [
    'udp sport 32768-60999 udp dport 53 accept',
    'meta l4proto udp reject',
    'th dport 53 accept',
    '@allowed4',
  ]
  const places = order.map((words) => output!.indexOf(words))
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.ok(places[0]! > 0, output!)
  assert.match(input!, /ip saddr 203\.0\.113\.253 udp sport 53 accept\n +meta l4proto udp drop\n/)
  assert.match(unmapped('resolver')!, /UDP to the resolver alone.*nft_connlimit.*`modprobe`/)
  assert.equal(unmapped('mapped'), undefined)
})

test('no text of a caller becomes a rule', () => {
  for (const text of ['10.0.0.1 }; flush ruleset; {', 'localhost', '', '10.0.0.0/33'])
    assert.throws(() => networkRules(NOTHING, '203.0.113.253', [text]), text)
  for (const host of [
    { addresses: ['1.2.3.4; accept'], networks: [] },
    { addresses: [], networks: ['1.2.3.0/24 }; accept'] },
  ])
    assert.throws(() => networkRules(host, '203.0.113.253'))
  assert.throws(() => addToRules('host', '1.2.3.4 } accept'))
  assert.throws(() => addToRules('network', '1.2.3.0/24 } accept'))
})

test('an address or a network that the host gets later is added to the set of its family', () => {
  assert.equal(addToRules('host', '192.0.2.7').join(' '), 'add element inet berth host4 { 192.0.2.7 }')
  assert.equal(addToRules('host', 'fe80::7%eth1').join(' '), 'add element inet berth host6 { fe80::7 }')
  assert.equal(addToRules('network', '192.0.2.7/24').join(' '), 'add element inet berth network4 { 192.0.2.0/24 }')
})

const ROUTES4 = `Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t016433C6\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t006433C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
eth0\t016433C6\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0
tun0\t00000000\t00000000\t0001\t0\t0\t0\t00000080\t0\t0\t0
*\t000033C6\t00000000\t0201\t0\t0\t0\t0000FFFF\t0\t0\t0
ppp0\t00000000\t00000000\t0001\t0\t0\t0\t00000000\t0\t0\t0
`
const NO_HOP = '00'.repeat(16)
const routes6Of = (
  ...routes: readonly (readonly [to: string, bits: string, hop: string, flags: string, device: string])[]
) =>
  routes
    .map(([to, bits, hop, flags, device]) => `${to} ${bits} ${NO_HOP} 00 ${hop} 00000400 1 0 ${flags} ${device}\n`)
    .join('')
const ROUTES6 = routes6Of(
  [NO_HOP, '00', '20010db8000100000000000000000001', '00000003', 'eth0'],
  ['20010db8000100000000000000000000', '40', NO_HOP, '00000001', 'eth0'],
  ['20010db8000100000000000000000002', '80', NO_HOP, '80200001', 'eth0'],
  ['20010db8000000000000000000000000', '20', NO_HOP, '00200200', 'lo'],
  [NO_HOP, '00', NO_HOP, '00200200', 'lo'],
)

test('gateways are the next hops of the routes of the kernel', () => {
  assert.deepEqual(routesOf(ROUTES4, ROUTES6, () => true).gateways, ['198.51.100.1', '2001:db8:1::1'])
  assert.deepEqual(
    routesOf('', '', () => true),
    { gateways: [], networks: [] },
  )
})

test('networks of the host are those of its routes without a next hop, on devices with neighbors', () => {
  const { networks } = routesOf(ROUTES4, ROUTES6, (device) => device !== 'tun0')
  assert.deepEqual(networks, ['198.51.100.0/24', '2001:db8:1::/64'])
})

test('the host answers at each address and prefix that the kernel routes to itself', () => {
  const trie = `Main:
  +-- 0.0.0.0/0 3 0 4
     |-- 0.0.0.0
        /0 universe UNICAST
        /0 host LOCAL
     +-- 127.0.0.0/31 1 0 0
        |-- 127.0.0.0
           /8 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
     |-- 192.88.12.0
        /24 link UNICAST
        /25 host LOCAL
     |-- 192.88.9.78
        /32 host LOCAL
Local:
     |-- 192.88.9.78
        /32 host LOCAL
     |-- 192.88.9.255
        /32 link BROADCAST
`
  const routes6 = routes6Of(
    ['20010db8000900000000000000000001', '80', NO_HOP, '80200001', 'lo'],
    ['20010db8000a00000000000000000000', '40', NO_HOP, '80000001', 'lo'],
    ['20010db8000100000000000000000000', '80', NO_HOP, '00300001', 'eth0'],
    ['20010db8000100000000000000000000', '40', NO_HOP, '00000001', 'eth0'],
    [NO_HOP, '00', NO_HOP, '80000001', 'lo'],
  )
  assert.deepEqual(localOf(trie, routes6), [
    ...['127.0.0.0/8', '127.0.0.1', '192.88.12.0/25', '192.88.9.78'],
    ...['2001:db8:9::1', '2001:db8:a::/64', '2001:db8:1::'],
  ])
  assert.deepEqual(localOf('', ''), [])
})

test('resolvers are read from the file of the host', () => {
  const text =
    '# nameserver 192.0.2.1\nsearch example.com\nnameserver 10.0.0.53\n nameserver\t2001:db8::53 # second\noptions edns0\n'
  assert.deepEqual(resolversOf(text), ['10.0.0.53', '2001:db8::53'])
  assert.deepEqual(resolversOf(''), [])
})

test('the address that DNS is sent to is on no network of the host', () => {
  assert.equal(forwardAddress([]), '203.0.113.253')
  assert.equal(forwardAddress(['203.0.113.9/24', '2001:db8::1/64', null]), '192.0.2.53')
  assert.equal(forwardAddress(['203.0.113.9/24', '192.0.2.1/26']), '198.51.100.53')
  assert.throws(() => forwardAddress(['192.0.0.1/4']))
})
