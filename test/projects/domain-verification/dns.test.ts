/** Domains against DNS as the world runs it: a stock dnsmasq, several resolvers, and where a name points. */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openDns } from '../../../src/platform/adapters/dns.ts'
import { skipReason } from '../../support/programs.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { type Dnsmasq, hasDnsmasq, openDnsmasq } from '../../support/servers/dnsmasq.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const dns = await startDnsServer()
after(() => dns.close())

if (hasDnsmasq) {
  const dnsmasq = await openDnsmasq()
  after(() => dnsmasq.close())
  const config = { BERTH_DNS_SERVERS: dnsmasq.address }
  onBothEngines('a domain is verified through a stock dnsmasq', (world) => proveThroughDnsmasq(world, dnsmasq), config)
} else {
  const skip = skipReason('dnsmasq', 'dnsmasq-base', 'names that it answers for')
  test('a domain is verified through a stock dnsmasq', { skip }, () => {})
}

async function proveThroughDnsmasq({ call }: World, dnsmasq: Dnsmasq): Promise<void> {
  await call('POST', '/v10/projects', { name: 'web' })
  const add = async (name: string) => (await call('POST', '/v10/projects/web/domains', { name })).body.verification[0]
  const verify = (name: string) => call.try('POST', `/v9/projects/web/domains/${name}/verify`)
  const right = await add('www.example.com')
  const wrong = await add('example.org')
  const none = await add('example.net')
  await dnsmasq.serve(
    { domain: right.domain, value: 'v=spf1 -all' },
    { domain: right.domain, value: `"${right.value}"` },
    { domain: wrong.domain, value: `"${wrong.value}0"` },
  )
  const verified = await verify('www.example.com')
  assert.equal(verified.status, 200, verified.text)
  assert.equal(verified.body.verified, true)
  const mismatch = await verify('example.org')
  assert.equal(mismatch.body.error.code, 'txt_record_mismatch')
  assert.ok(mismatch.body.error.message.includes(`${wrong.value}0`))
  const missing = await verify('example.net')
  assert.equal(missing.body.error.code, 'missing_txt_record', `${missing.text} ${none.domain}`)
  await dnsmasq.stop()
  // With the server gone nothing is known, which is not the same as "no record".
  const silent = await verify('example.org')
  assert.equal(silent.status, 503)
  assert.equal(silent.body.error.code, 'dns_unavailable')
}

test('a dead first resolver does not keep the second from answering', async () => {
  dns.zones.set('_berth.several.com', { txt: [['a', 'b'], ['c']] })
  const { readTxt } = openDns([`127.0.0.1:${await freePort()}`, dns.address])
  assert.deepEqual((await readTxt('_berth.several.com', 'one'))?.sort(), ['ab', 'c'])
})

test('DNS has three outcomes, at most 100 records are read, and a name is queried exactly as written', async () => {
  const { readTxt, readA } = openDns([dns.address])
  dns.zones.set('many.com', { overTcp: true, txt: Array.from({ length: 200 }, (_, at) => [`record ${at}`]) })
  dns.zones.set('bare.com', { a: ['192.0.2.1'] })
  dns.zones.set('loop.com', { cname: 'loop.com' })
  dns.zones.set('broken.com', { rcode: 'SERVFAIL' })
  assert.equal((await readTxt('many.com', 'one'))?.length, 100)
  assert.deepEqual(await readTxt('bare.com', 'one'), [])
  assert.deepEqual(await readTxt('loop.com', 'one'), [])
  assert.deepEqual(await readTxt('nothing.com', 'one'), [])
  assert.deepEqual(await readA('bare.com', 'one'), ['192.0.2.1'])
  assert.equal(await readTxt('broken.com', 'one'), undefined)
  assert.equal(await openDns([`127.0.0.1:${await freePort()}`]).readTxt('bare.com', 'one'), undefined)
})

test('a look-up that waits too long for its turn gets no answer, and the slots come back (a bound on time)', async () => {
  const { readTxt } = openDns([dns.address])
  dns.zones.set('stuck.com', { silent: true })
  dns.zones.set('fine.com', { txt: [['yes']] })
  const began = performance.now()
  const stuck = Array.from({ length: 64 }, () => readTxt('stuck.com', 'one'))
  assert.deepEqual(await Promise.all(stuck), Array(64).fill(undefined))
  const took = performance.now() - began
  assertWithin(took, 5600)
  assert.deepEqual(
    await Promise.all(Array.from({ length: 64 }, () => readTxt('fine.com', 'one'))),
    Array(64).fill(['yes']),
  )
})

const EDGE = {
  BERTH_DNS_SERVERS: dns.address,
  BERTH_EDGE_CNAME: 'edge.berth.net',
  BERTH_EDGE_IPV4: '192.0.2.10,192.0.2.11',
}
dns.zones.set('edge.berth.net', { a: ['192.0.2.10'], aaaa: ['2001:db8::10'] })

/** Addresses that the resolvers know are not for callers; clients read these without asking whether they are there. */
const UNTOLD = { serviceType: 'external', nameservers: [], cnames: [], aValues: [], conflicts: [] }

onBothEngines(
  'the config of a domain says whether its DNS points here, and which records to set',
  async ({ call }) => {
    dns.zones.set('by-cname.com', { cname: 'edge.berth.net' })
    dns.zones.set('by-a.com', { a: ['192.0.2.11'] })
    dns.zones.set('by-both.com', { a: ['192.0.2.10', '192.0.2.11'], aaaa: ['2001:db8::10'] })
    dns.zones.set('half.com', { a: ['192.0.2.10', '203.0.113.9'] })
    dns.zones.set('other6.com', { a: ['192.0.2.10'], aaaa: ['2001:db8::bad'] })
    dns.zones.set('elsewhere.com', { cname: 'other.example.net' })
    dns.zones.set('other.example.net', { a: ['203.0.113.9'] })
    dns.zones.set('broken2.com', { rcode: 'SERVFAIL' })
    dns.zones.set('*.by-star.com', { cname: 'edge.berth.net' })
    const expected: Record<string, 'A' | 'CNAME' | null> = {
      'by-cname.com': 'CNAME',
      'BY-A.com.': 'A',
      'by-both.com': 'A',
      '*.by-star.com': 'CNAME',
      'half.com': null,
      'other6.com': null,
      'elsewhere.com': null,
      'broken2.com': null,
      'nowhere.com': null,
    }
    for (const [name, configuredBy] of Object.entries(expected)) {
      const { status, body } = await call('GET', `/v6/domains/${name}/config?projectIdOrName=web&strict=true`)
      assert.equal(status, 200)
      assert.deepEqual(
        body,
        {
          misconfigured: configuredBy === null,
          configuredBy,
          acceptedChallenges: configuredBy === null ? [] : ['http-01'],
          recommendedCNAME: [{ rank: 1, value: 'edge.berth.net' }],
          recommendedIPv4: [{ rank: 1, value: ['192.0.2.10', '192.0.2.11'] }],
          ...UNTOLD,
        },
        name,
      )
    }
    assert.equal((await call.try('GET', '/v6/domains/co.uk/config')).status, 400)
  },
  EDGE,
)

onBothEngines(
  'config without a known edge takes a name that resolves for one that points here',
  async ({ call, token }) => {
    dns.zones.set('somewhere.com', { a: ['203.0.113.9'] })
    const { body } = await call('GET', '/v4/domains/somewhere.com/config')
    assert.deepEqual(body, {
      misconfigured: false,
      configuredBy: 'A',
      acceptedChallenges: ['http-01'],
      recommendedCNAME: [],
      recommendedIPv4: [],
      ...UNTOLD,
    })
    assert.equal((await call('GET', '/v4/domains/nowhere.com/config')).body.misconfigured, true)
    const narrow = await token({ scopes: ['read:project'] })
    assert.equal((await narrow.try('GET', '/v6/domains/somewhere.com/config')).status, 403)
  },
  { BERTH_DNS_SERVERS: dns.address },
)
