/**
 * What a command with network reaches, in namespaces of the test's own. Each address is tried three times: on the host without a sandbox, in a
 * sandbox without the rules, and in a sandbox. docs/sandbox.md: Network.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labSkipReason, openLab } from './lab.ts'
import { ADDRESSES, HOST_PORT, probe, type Reach, readProbe } from './lab-addresses.ts'
import { ATTEMPTS, EHOSTUNREACH, GET_ADDRESS, lastAttempts } from './new-address.ts'

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

test('an address that the host gets while a command runs is closed', { skip, timeout: 300_000 }, async (t) => {
  for (const isHeld of [false, true]) {
    const lab = await openLab(t)
    const more = { afterStart: GET_ADDRESS, isHeld }
    const { output } = await lab.inSandbox(ATTEMPTS, {}, more)
    assert.deepEqual(lastAttempts(output), new Set([EHOSTUNREACH]))
    const control = await lab.inSandbox(ATTEMPTS, {}, { ...more, rules: 'none' })
    assert.deepEqual(lastAttempts(control.output), new Set(['reached']), 'the control')
  }
})

test('allowed prefixes are opened although they are private, and the host stays closed', {
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
    (await reached(['10.9.9.9', 'fd12::/64'])).sort(),
    [...always, '10.9.9.9', '::ffff:10.9.9.9', 'private.test', 'fd12::7'].sort(),
  )
  const all = await reached(['0.0.0.0/0', '::/0'])
  assert.ok(all.includes('169.254.169.254'), 'the control: the list counts')
  for (const [, address, port] of addresses) if (port === HOST_PORT) assert.equal(all.includes(address), false, address)
  assert.deepEqual(lab.arrived(), [])
})
