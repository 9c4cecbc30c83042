/** Lists of what Berth keeps none of: empty in the shape that clients read. docs/clients.md. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'

const PAGE = { count: 0, next: null, prev: null }

onBothEngines('certificates, records and storage are empty lists in the shape of the newest SDK', async (world) => {
  const { call } = world
  for (const path of [
    '/v8/certs',
    '/v4/certs?limit=20&until=1',
    '/v5/certs?domain=a.org&custom=true',
    '/v4/certs?cn=a.org',
  ]) {
    const answer = await call('GET', path)
    assert.deepEqual([answer.status, answer.body], [200, { certs: [], pagination: PAGE }], path)
  }
  const stores = await call('GET', '/v1/storage/stores?projectId=prj_x')
  assert.deepEqual([stores.status, stores.body], [200, { stores: [] }])
  assert.equal((await call.try('GET', '/v8/certs?project=web')).status, 400)
})

onBothEngines('records are those of a domain of the account, by any name under it', async (world) => {
  const { call } = world
  await call('POST', '/v7/domains', { name: 'kept.org' })
  for (const path of ['/v5/domains/kept.org/records', '/v4/domains/www.kept.org/records?limit=20&until=1']) {
    const answer = await call('GET', path)
    assert.deepEqual([answer.status, answer.body], [200, { records: [], pagination: PAGE }], path)
  }
  const rival = await world.user('rival')
  for (const other of ['/v5/domains/other.org/records', '/v5/domains/localhost/records']) {
    assert.equal((await call.try('GET', other)).status, 404, other)
  }
  assert.equal((await rival.call.try('GET', '/v5/domains/kept.org/records')).status, 404)
  const blind = await world.token({ scopes: ['read:project'] })
  assert.equal((await blind.try('GET', '/v8/certs')).status, 403)
  assert.equal((await blind.try('GET', '/v5/domains/kept.org/records')).status, 403)
})
