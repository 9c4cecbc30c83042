/** What each name server returns for the challenge record of a domain. docs/domains.md. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { freePort } from '../../support/servers/free-port.ts'
import { onBothEngines } from '../../support/world.ts'

const [first, second] = [await startDnsServer(), await startDnsServer()]
after(() => Promise.all([first.close(), second.close()]))
const nobody = `127.0.0.1:${await freePort()}`

onBothEngines(
  'each name server is queried separately and its records are shown; a verified domain causes no query',
  async (world) => {
    for (const { zones } of [first, second]) zones.clear()
    await seedProject(world, 'web')
    const name = 'www.example.com'
    const { body } = await world.call('POST', '/v10/projects/web/domains', { name })
    const [{ domain, value }] = body.verification
    const answers = async () => {
      const answer = await world.call('GET', `/v1/projects/web/domains/${name}/answers`)
      assert.equal(answer.status, 200, answer.text)
      return answer.body.nameServers
    }
    const none = { state: 'missing', seen: null }
    const silent = { state: 'no-answer', seen: null }
    assert.deepEqual(await answers(), [none, none, silent])
    first.zones.set(domain, { txt: [[value]] })
    second.zones.set(domain, { txt: [[`${value}x`], [`berth-domain-verify=other.example.com,${'0'.repeat(20)}`]] })
    assert.deepEqual(await answers(), [{ state: 'found', seen: null }, { state: 'other', seen: `"${value}x"` }, silent])
    second.zones.set(domain, { rcode: 'SERVFAIL' })
    assert.deepEqual((await answers())[1], silent)

    const client = await openSignedInClient(world)
    const path = `/console/t/admin/projects/web/domains/${name}`
    assert.match((await client.get(path)).text, new RegExp(`href="${path}/answers"`))
    second.zones.set(domain, { txt: [['<b>something else']] })
    const page = await client.get(`${path}/answers`)
    assert.equal(page.status, 200, page.text)
    for (const said of ['Record found', 'Different record', '&quot;&lt;b&gt;something else&quot;', 'No answer in time'])
      assert.ok(page.text.includes(said), said)
    assert.equal(page.text.includes(nobody), false, 'the addresses are the operator’s')

    assert.equal((await world.call('POST', `/v9/projects/web/domains/${name}/verify`)).status, 200)
    first.asked.length = 0
    assert.deepEqual(await answers(), [])
    assert.deepEqual(first.asked, [])
    assert.match((await client.get(`${path}/answers`)).text, /The domain is verified/)
    const stranger = await world.user('eve')
    assert.equal((await stranger.call.try('GET', `/v1/projects/web/domains/${name}/answers`)).status, 404)
  },
  { BERTH_DNS_SERVERS: `${first.address},${second.address},${nobody}` },
)

onBothEngines(
  'name servers are asked as often as for a verify, and no more',
  async (world) => {
    await seedProject(world, 'web')
    await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
    const ask = () => world.call.try('GET', '/v1/projects/web/domains/www.example.com/answers')
    const statuses = (await Promise.all(Array.from({ length: 25 }, ask))).map(({ status }) => status)
    assert.deepEqual(statuses.toSorted(), [...Array(20).fill(200), ...Array(5).fill(429)])
  },
  { BERTH_DNS_SERVERS: first.address, BERTH_RATE_LIMITS: 'on' },
)
