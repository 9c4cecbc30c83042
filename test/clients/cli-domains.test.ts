import assert from 'node:assert/strict'
import { after } from 'node:test'
import { startDnsServer } from '../support/servers/dns-server.ts'
import { assertSaid, onBothClis } from './cli-world.ts'

const dns = await startDnsServer()
after(() => dns.close())
let serial = 0

onBothClis(
  'domains',
  async (world) => {
    const { cli, works, api, link, version } = world
    const newer = version !== '39.1.3'
    const project = (await api('POST', '/v10/projects', { name: 'web' })).body
    link(project)
    const name = `shop-${++serial}.com`
    const read = () => api.try('GET', `/v9/projects/web/domains/${name}`)

    await works(
      'domains add',
      async () => {
        // In a linked folder the older one takes the name alone.
        const words = newer ? [name, 'web'] : [name]
        const said = await cli(['domains', 'add', ...words])
        assertSaid(said, 0, `Success! Domain ${name} added to project web.`)
        assert.equal((await read()).body.verified, false)
        assertSaid(await cli(['domains', 'add', ...(newer ? ['not a name', 'web'] : ['not a name'])]), 1)
        assert.equal((await api('GET', '/v9/projects/web/domains')).body.domains.length, 1)
      },
      'GET /domains/:domain',
    )
    if ((await read()).status === 404) await api('POST', '/v10/projects/web/domains', { name })
    await works(
      'domains verify',
      async () => {
        const [challenge] = (await read()).body.verification
        assertSaid(await cli(['domains', 'verify', name]), 1, challenge.domain, challenge.value)
        assert.equal((await read()).body.verified, false)
        dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
        dns.zones.set(name, { a: ['203.0.113.7'] })
        assertSaid(await cli(['domains', 'verify', name]), 0, name)
        assert.equal((await read()).body.verified, true)
      },
      'GET /project-domains/:domain',
    )
    if (!(await read()).body.verified) {
      const [challenge] = (await read()).body.verification
      dns.zones.set(challenge.domain, { txt: [[challenge.value]] })
      dns.zones.set(name, { a: ['203.0.113.7'] })
      assert.equal((await api('POST', `/v9/projects/web/domains/${name}/verify`)).status, 200)
    }
    await works(
      'domains ls',
      async () => {
        assertSaid(await cli(['domains', 'ls']), 0, name)
      },
      'GET /domains',
    )
    await works(
      'certs ls',
      async () => assertSaid(await cli(['certs', 'ls']), 0, 'ertificates found under'),
      'GET /certs',
    )
    await works(
      'dns ls',
      async () => assertSaid(await cli(['dns', 'ls', name]), 0, 'ecords found under'),
      'GET /domains/:domain/records',
    )
    await works(
      'domains inspect',
      async () => {
        const said = await cli(['domains', 'inspect', name])
        assertSaid(said, 0, `Domain ${name} found under team`)
        // The older one looks for the projects in `alias` of each, where Berth says nothing.
        assert.equal(said.err.includes('web'), newer)
        assertSaid(await cli(['domains', 'inspect', 'nobodys.com']), 1, 'Domain not found by "nobodys.com" under team')
      },
      'GET /domains/:domain',
    )
    await works(
      'domains rm',
      async () => {
        assertSaid(await cli(['domains', 'rm', name, '--yes']), 0, `Success! Domain ${name} removed`)
        assert.equal((await read()).status, 404)
        assertSaid(await cli(['domains', 'rm', name, '--yes']), 1)
      },
      'DELETE /domains/:domain',
    )
  },
  { BERTH_DNS_SERVERS: dns.address },
)
