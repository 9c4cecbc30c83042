/** What callers and operators say of domains, well and badly: nothing bad is stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../../src/config.ts'
import { onBothEngines } from '../../support/world.ts'
import { BAD } from './bad-names.ts'

test('settings of domains are read strictly, and the message names the setting', () => {
  const bad: Record<string, string> = {
    BERTH_DNS_SERVERS: 'localhost:53',
    BERTH_DOMAIN_PROOF: 'never',
    BERTH_PLATFORM_SUFFIX: 'a b',
    BERTH_DENIED_DOMAINS: 'good.com,b@d',
    BERTH_SPECIAL_USE_DOMAINS: '-x',
    BERTH_CHALLENGE_LABEL: 'a.b',
    BERTH_CHALLENGE_PREFIX: 'a=b',
    BERTH_EDGE_CNAME: 'a,b.com',
    BERTH_EDGE_IPV4: '::1',
  }
  for (const [name, value] of Object.entries(bad)) {
    assert.throws(() => readConfig({ [name]: value }), new RegExp(name), `${name}=${value}`)
  }
  for (const server of ['127.0.0.1:70000', '1.2.3', '[1.2.3.4]:5', 'x:53'])
    assert.throws(() => readConfig({ BERTH_DNS_SERVERS: server }), /BERTH_DNS_SERVERS/)
  const read = readConfig({ BERTH_DNS_SERVERS: '127.0.0.1:5300, [::1]:53,9.9.9.9, ::1' })
  assert.deepEqual(read.dnsServers, ['127.0.0.1:5300', '[::1]:53', '9.9.9.9', '::1'])
  assert.deepEqual(readConfig({ BERTH_DENIED_DOMAINS: '*.Müll.de, x.org.' }).domains.denied, [
    'xn--mll-hoa.de',
    'x.org',
  ])
})

onBothEngines('every spelling of one name is one domain, in the body and in the path', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const made = await call('POST', '/v10/projects/web/domains', { name: 'WWW.Käse.Example.COM.' })
  assert.equal(made.status, 200)
  assert.equal(made.body.name, 'www.xn--kse-qla.example.com')
  assert.equal(made.body.apexName, 'example.com')
  for (const said of ['www.käse.example.com', 'www.xn--kse-qla.example.com.', 'Www.KÄSE.example.com']) {
    const again = await call.try('POST', '/v10/projects/web/domains', { name: said })
    assert.equal(again.status, 400)
    assert.equal(again.body.error.code, 'domain_already_in_use')
    const read = await call('GET', `/v9/projects/web/domains/${encodeURIComponent(said)}`)
    assert.deepEqual(read.body, made.body)
  }
  await call('POST', '/v10/projects/web/domains', { name: '*.example.com' })
  assert.equal((await call('GET', '/v9/projects/web/domains/*.example.com')).status, 200)
  assert.equal((await call('GET', '/v9/projects/web/domains/%2A.example.com')).status, 200)
  assert.equal((await call('GET', '/v9/projects/web/domains')).body.domains.length, 2)
})

onBothEngines(
  'a name that cannot be a domain is 400 in body and path, and nothing is written',
  async ({ call, deps }) => {
    await call('POST', '/v10/projects', { name: 'web' })
    const state = async () => [
      await deps.db.read.selectFrom('project_domain').selectAll().execute(),
      await deps.db.read.selectFrom('event').select('id').execute(),
      await deps.db.read.selectFrom('audit').select('stamp').execute(),
    ]
    const before = await state()
    for (const name of BAD) {
      const added = await call.try('POST', '/v10/projects/web/domains', { name })
      assert.equal(added.status, 400, name)
      if (name !== '') assert.equal(added.body.error.code, 'invalid_domain', name)
      if (/^\.*$/.test(name) || name.length > 500) continue
      const path = `/v9/projects/web/domains/${encodeURIComponent(name)}`
      for (const method of ['GET', 'DELETE'] as const) {
        const read = await call.try(method, path)
        assert.equal(read.status, 404, `${method} ${name}`)
        assert.equal(read.body.error.code, 'not_found')
      }
      assert.equal((await call.try('PATCH', path, {})).status, 404)
      assert.equal((await call.try('POST', `${path}/verify`)).status, 400)
    }
    const bodies: unknown[] = [
      {},
      { name: null },
      { name: 5 },
      { name: ['a.example.com'] },
      { name: { a: 1 } },
      'null',
      '[]',
      '{"name":"a.example.com\\u0000"}',
      '{"name":"\\ud800.example.com"}',
      '{"__proto__":{"x":1},"name":"a.example.com"}',
      '{"name":"__proto__"}',
      { name: 'a.example.com', gitBranch: 'b'.repeat(251) },
      { name: 'a.example.com', gitBranch: 7 },
      { name: 'a.example.com', gitBranch: 'a\0b' },
      { name: 'a.example.com', redirect: 1 },
      { name: 'a.example.com', redirectStatusCode: 303 },
      { name: 'a.example.com', redirectStatusCode: '301' },
      { name: 'a.example.com', redirectStatusCode: 301 },
      { name: 'a.example.com', redirect: null, redirectStatusCode: 301 },
      { name: 'a.example.com', redirect: 'javascript:alert(1)' },
      { name: 'a.example.com', redirect: 'constructor' },
    ]
    for (const body of bodies)
      assert.equal((await call.try('POST', '/v10/projects/web/domains', body)).status, 400, JSON.stringify(body))
    assert.equal((await call.try('GET', '/v9/projects/web/domains/a%00b.example.com')).status, 400)
    assert.deepEqual(await state(), before)
    const longest = await call('POST', '/v10/projects/web/domains', {
      name: 'a.example.com',
      gitBranch: 'b'.repeat(250),
    })
    assert.equal(longest.status, 200)
  },
)
