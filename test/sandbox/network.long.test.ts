/**
 * What a command with network reaches, in namespaces of the test's own. Each address is tried three times: on the host without a sandbox, in a
 * sandbox without the rules, and in a sandbox. docs/sandbox.md: Network.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labSkipReason, openLab } from './lab.ts'
import { ADDRESSES, AWAIT_IPV6, HOST_PORT, INTERNET_PORT, probe, type Reach, readProbe } from './lab-addresses.ts'
import { attempts, EHOSTUNREACH, GET_ADDRESS, lastAttempts, NEW_ADDRESS } from './new-address.ts'

const skip = labSkipReason()

for (const [isHeld, name] of [
  [false, 'a command with network reaches public addresses and DNS, and nothing of the host or of a private network'],
  [
    true,
    'a command that enters a network reaches public addresses and DNS, and nothing of the host or a private network',
  ],
] as const)
  test(name, {
    skip,
    timeout: 600_000,
  }, async (t) => {
    const lab = await openLab(t)
    const linkLocal = /fe80[\w:]+/.exec(lab.onHost('ip -6 addr show dev h0 scope link'))?.[0]
    const script = probe(ADDRESSES.map(([, address, port]) => [address.replace('LINK_LOCAL', `${linkLocal}%h0`), port]))
    const reachedBy = (...who: Reach[]) =>
      ADDRESSES.filter(([, , , reach]) => who.includes(reach)).map(([what]) => what)
    const host = readProbe(lab.onHost(script))
    assert.equal(host.abstract, 'reached', 'the control without a sandbox')
    assert.deepEqual(host.tcp, reachedBy('sandboxed', 'without rules', 'host'), 'the control without a sandbox')

    const open = readProbe((await lab.inSandbox(script, {}, { rules: 'none', isHeld })).output)
    assert.deepEqual(open.tcp, reachedBy('sandboxed', 'without rules'), 'the control without rules')
    assert.deepEqual(
      open.udp.filter((what) => !reachedBy('host').includes(what)),
      open.tcp,
    )
    assert.equal(open.icmp, 'reached', 'the control without rules')
    assert.notDeepEqual(lab.arrived(), [])

    const { output } = await lab.inSandbox(script, {}, { isHeld })
    const kept = readProbe(output)
    assert.deepEqual(kept.tcp, reachedBy('sandboxed'), output)
    assert.deepEqual(kept.udp, reachedBy('sandboxed'), output)
    assert.deepEqual([kept.icmp, kept.abstract], ['refused', 'refused'])
    assert.deepEqual(lab.arrived(), [], 'the services of the host see nothing')
  })

for (const [what, afterStart, address, port] of [
  ['an address', GET_ADDRESS, NEW_ADDRESS, HOST_PORT],
  ['a network', 'ip addr add 192.88.8.5/24 dev h0', '192.88.8.7', INTERNET_PORT],
] as const)
  test(`${what} that the host gets while a command runs is closed`, { skip, timeout: 300_000 }, async (t) => {
    for (const isHeld of [false, true]) {
      const lab = await openLab(t)
      const last = async (rules: 'all' | 'none') => {
        const { output } = await lab.inSandbox(attempts(address, port), {}, { afterStart, isHeld, rules })
        return lastAttempts(output)
      }
      assert.deepEqual(await last('all'), new Set([EHOSTUNREACH]))
      lab.onHost(afterStart.replace(' add ', ' del '))
      assert.deepEqual(await last('none'), new Set(['reached']), 'the control')
    }
  })

/** Of each family. */
const NEXT = 40

/** Sends to addresses next to the host that nothing has, and returns once the public ones have answered, which are sent to afterwards. */
const SEND_NEXT = `python3 - <<'END'
import socket
${AWAIT_IPV6}
for family, next, public in (
  (socket.AF_INET, '198.51.100.1%02d', '192.88.7.7'),
  (socket.AF_INET6, '2001:db8:1::1%02d', '2001:db8:2::80'),
):
  s = socket.socket(family, socket.SOCK_DGRAM)
  s.settimeout(10)
  for n in range(${NEXT}):
    try: s.sendto(b'x', (next % n, 9999))
    except OSError: pass
  s.sendto(b'x', (public, 9999))
  print(s.recv(10))
END
`

test('no command fills the neighbor table of the machine with addresses next to the host', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t)
  const neighbors = async (rules: 'all' | 'none') => {
    const { output } = await lab.inSandbox(SEND_NEXT, {}, { rules })
    assert.equal(output, "b'hello\\n'\nb'hello\\n'\n")
    return lab.onHost('ip neigh show dev h0').match(/^(198\.51\.100\.1|2001:db8:1::1)\d\d /gm) ?? []
  }
  assert.deepEqual(await neighbors('all'), [])
  assert.equal((await neighbors('none')).length, 2 * NEXT, 'the control')
})

test('allowed prefixes are opened although they are private or next to the host, and the host stays closed', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const lab = await openLab(t)
  const script = probe(
    ADDRESSES.filter(([what]) => what !== 'link-local of the host').map(([, ...rest]) => [rest[0], rest[1]]),
  )
  const addresses = ADDRESSES.filter(([what]) => what !== 'link-local of the host')
  const reached = async (allow: string[]) => {
    const { output } = await lab.inSandbox(script, { network: { allow } })
    const [, ...indexes] = output.split('\n')[0]!.split(' ')
    return indexes.map((at) => addresses[Number(at)]![1])
  }
  const always = ['192.88.7.7', '2001:db8:2::80', 'good.test']
  assert.deepEqual(
    (await reached(['10.9.9.9', 'fd12::/64', '198.51.100.7'])).sort(),
    [...always, '10.9.9.9', '::ffff:10.9.9.9', 'private.test', 'fd12::7', '198.51.100.7'].sort(),
  )
  const all = await reached(['0.0.0.0/0', '::/0'])
  assert.ok(all.includes('169.254.169.254'), 'the control: the list counts')
  for (const [, address, port] of addresses) if (port === HOST_PORT) assert.equal(all.includes(address), false, address)
  assert.deepEqual(lab.arrived(), [])
})
