/** The rules of the network, as a pure function of the addresses of the host. docs/sandbox.md: Network. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forwardAddress, gatewaysOf, resolversOf } from '../../src/sandbox/network/host-addresses.ts'
import { addHostAddress, networkRules } from '../../src/sandbox/network/rules.ts'

const RULES = networkRules(['198.51.100.2', '2001:db8:1::2', 'fe80::1%eth0'], ['198.51.100.1'], '203.0.113.253', [
  '10.1.2.3',
  '10.2.0.0/16',
  'fd12::/64',
])

/** Where a line with these words is. */
function lineOf(words: string): number {
  const at = RULES.split('\n').findIndex((line) => line.includes(words))
  assert.notEqual(at, -1, words)
  return at
}

test('addresses and gateways of the host are in sets, by family', () => {
  assert.match(RULES, /set host4 \{.*elements = \{ 198\.51\.100\.2, 198\.51\.100\.1 \}/)
  assert.match(RULES, /set host6 \{.*elements = \{ 2001:db8:1::2, fe80::1 \}/)
  assert.match(RULES, /set allowed4 \{.*elements = \{ 10\.1\.2\.3, 10\.2\.0\.0\/16 \}/)
  assert.match(RULES, /set allowed6 \{.*elements = \{ fd12::\/64 \}/)
  assert.doesNotMatch(networkRules([], [], '203.0.113.253'), /elements = \{ +\}/)
  const named = networkRules([], [], '203.0.113.253', ['10.2.3.4/16', 'fd12::5/64'])
  assert.match(named, /\{ 10\.2\.0\.0\/16 \}[\s\S]*\{ fd12::\/64 \}/)
})

test('the host is closed before what is allowed is opened, and that before private networks are closed', () => {
  const order = [
    'th dport 53 accept',
    '@host4 reject',
    '@allowed4',
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
  assert.match(RULES, /reject with icmpx admin-prohibited\n {2}\}\n\}\n$/)
})

test('no text of a caller becomes a rule', () => {
  for (const text of ['10.0.0.1 }; flush ruleset; {', 'localhost', '', '10.0.0.0/33'])
    assert.throws(() => networkRules([], [], '203.0.113.253', [text]), text)
  assert.throws(() => networkRules(['1.2.3.4; accept'], [], '203.0.113.253'))
  assert.throws(() => addHostAddress('1.2.3.4 } accept'))
})

test('an address that the host gets later is added to the set of its family', () => {
  assert.equal(addHostAddress('192.0.2.7').join(' '), 'add element inet berth host4 { 192.0.2.7 }')
  assert.equal(addHostAddress('fe80::7%eth1').join(' '), 'add element inet berth host6 { fe80::7 }')
})

test('gateways are the next hops of the routes of the kernel', () => {
  const routes4 = 'Iface\tDestination\tGateway \tFlags\nlo0\t00000000\t016433C6\t0003\nlo0\t006433C6\t00000000\t0001\n'
  const routes6 =
    '00000000000000000000000000000000 00 00000000000000000000000000000000 00 20010db8000100000000000000000001 00000400 00000001 00000000 00000003 eth0\n' +
    'fe800000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth0\n'
  assert.deepEqual(gatewaysOf(routes4, routes6), ['198.51.100.1', '2001:db8:1::1'])
  assert.deepEqual(gatewaysOf('', ''), [])
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
