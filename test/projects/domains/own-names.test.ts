/** The names of Berth itself cannot be claimed. docs/domains.md: Berth's own names. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { newHome, runUntilExit } from '../../support/process.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused, verifyAllClaims } from '../../support/worlds/domain-world.ts'

const dns = await startDnsServer()
after(() => dns.close())

onBothEngines(
  'the names of Berth itself are refused wherever a domain is added, also under the platform suffix',
  async (world) => {
    const web = await seedWebProject(world, [])
    const mine = await verifyAllClaims(dns, world.call, 'mine')
    const own = ['berth.apps.example.net', 'Edge.apps.example.net', 'apps.example.net', 'berth.apps.example.net.']
    for (const name of [...own, '*.apps.example.net', '*.example.net']) {
      assertRefused(await mine.add(name), 409, 'domain_not_allowed')
      assertRefused(
        await world.call.try('POST', '/v2/projects/mine/alias', { domain: name, target: 'PRODUCTION' }),
        409,
        'domain_not_allowed',
      )
    }
    const deploymentId = await web.deploy({ upstream: 'http://127.0.0.1:9' })
    for (const alias of ['berth', 'edge', ...own]) {
      const answer = await world.call.try('POST', `/v2/deployments/${deploymentId}/aliases`, { alias })
      assert.equal(answer.status, 403, `${alias} ${answer.text}`)
      assert.match(answer.body.error.message, /Berth itself|only names with one label/, alias)
    }
    for (const url of own.slice(0, 3)) {
      const answer = await world.operator.try('POST', `/operator/v1/projects/${web.id}/deployments`, {
        url,
        readyState: 'READY',
      })
      assert.equal(answer.status, 400, `${url} ${answer.text}`)
      assert.match(answer.body.error.message, /Berth itself|host name/, url)
    }
    assert.equal((await mine.add('www.apps.example.net')).body.verified, true)
  },
  {
    BERTH_DNS_SERVERS: dns.address,
    BERTH_PLATFORM_SUFFIX: 'apps.example.net',
    BERTH_PUBLIC_URL: 'https://Berth.apps.example.net:8443/',
    BERTH_EDGE_CNAME: 'edge.apps.example.net',
  },
)

onBothEngines(
  'an apex of a name of Berth is not added to an account, nor verified where it was claimed before',
  async (world) => {
    const mine = await verifyAllClaims(dns, world.call, 'mine')
    const { ownNames } = world.deps.config.domains
    const names = ownNames.splice(0)
    assert.equal((await world.call('POST', '/v7/domains', { name: 'example.org' })).status, 200)
    assert.equal((await mine.add('example.org')).status, 200)
    ownNames.push(...names)
    const { txtRecord, verificationDomain } = (await world.call('GET', '/v9/domains/example.org/verification')).body
    const [challenge] = (await mine.read('example.org')).verification
    dns.zones.set(verificationDomain, { txt: [[txtRecord], [challenge.value]] })
    assertRefused(await world.call.try('POST', '/v9/domains/example.org/claim'), 409, 'domain_not_allowed')
    assertRefused(await mine.verify('example.org'), 409, 'domain_not_allowed')
    assertRefused(await world.call.try('POST', '/v7/domains', { name: 'example.org' }), 409, 'domain_not_allowed')
    assert.equal((await mine.add('www.example.org')).status, 200)
  },
  { BERTH_DNS_SERVERS: dns.address, BERTH_PUBLIC_URL: 'https://example.org' },
)

test('a platform suffix under which others register names ends the start with 78', { timeout: 300_000 }, async (t) => {
  const home = await newHome(t, 'sqlite')
  for (const suffix of ['com', 'co.uk', 'github.io', 'unheard-of', 'xn--p1ai', '*.com']) {
    const { code, err } = await runUntilExit(t, home, { BERTH_PLATFORM_SUFFIX: suffix })
    assert.deepEqual([code, err.startsWith('berth: BERTH_PLATFORM_SUFFIX is "')], [78, true], `${suffix} ${err}`)
  }
})

onBothEngines(
  'a platform suffix that is on the list as a platform is taken where the edge lies under it',
  async (world) => {
    assert.equal(world.deps.config.domains.platformSuffix, 'github.io')
  },
  { BERTH_PLATFORM_SUFFIX: 'github.io', BERTH_EDGE_CNAME: 'edge.github.io' },
)
