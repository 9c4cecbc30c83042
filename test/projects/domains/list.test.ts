/** Operation 11, and the list of an apex. */
import assert from 'node:assert/strict'
import { STAMPS_PER_MS } from '../../../src/platform/base/clock.ts'
import { onBothEngines } from '../../support/world.ts'
import { named, seedDomains } from '../../support/worlds/domain-world.ts'

onBothEngines(
  'the list is newest first, filters by each of its fields, and refuses values that a field cannot have',
  async (world) => {
    const { call } = world
    await seedDomains(world, ['one.apps.example.net', 'two.example.com', 'three.example.com', 'four.example.com'])
    const patch = (name: string, body: object) => call('PATCH', `/v9/projects/web/domains/${name}`, body)
    await patch('two.example.com', { gitBranch: 'next' })
    await patch('three.example.com', { redirect: 'one.apps.example.net' })
    await patch('four.example.com', { redirect: 'three.example.com' })
    const list = async (query: string) => {
      const { status, body } = await call('GET', `/v9/projects/web/domains?${query}`)
      assert.equal(status, 200, JSON.stringify(body))
      return named(body.domains).map((name) => name.split('.')[0])
    }
    const expected: Record<string, string[]> = {
      '': ['four', 'three', 'two', 'one'],
      'order=DESC': ['four', 'three', 'two', 'one'],
      'order=ASC': ['one', 'two', 'three', 'four'],
      'production=true': ['four', 'three', 'one'],
      'production=false': ['four', 'three', 'two', 'one'],
      'target=production': ['four', 'three', 'one'],
      'target=preview': ['two'],
      'gitBranch=next': ['two'],
      'gitBranch=none': [],
      'redirects=false': ['two', 'one'],
      'redirects=true': ['four', 'three', 'two', 'one'],
      'redirect=One.apps.example.net.': ['three'],
      'redirect=nothing.example.com': [],
      'verified=true': ['one'],
      'verified=false': ['four', 'three', 'two'],
      'verified=false&redirects=false': ['two'],
      'limit=2': ['four', 'three'],
    }
    for (const [query, names] of Object.entries(expected)) assert.deepEqual(await list(query), names, query)
    for (const query of [
      'unknown=1',
      'limit=0',
      'limit=101',
      'limit=x',
      'order=asc',
      'verified=maybe',
      'production=2',
      'since=-1',
      'until=x',
      'redirect=a%20b',
      'target=x',
      'limit=1&limit=2',
    ])
      assert.equal((await call.try('GET', `/v9/projects/web/domains?${query}`)).status, 400, query)
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines(
  '150 domains of one millisecond page to the end once each, in both orders; since and until are exclusive',
  async (world) => {
    const { call, deps } = world
    await seedDomains(world, [])
    // The clock stands still: the stamps of one millisecond differ in their last ten bits only.
    const frozen = deps.clock.now()
    const running = { ...deps.clock }
    let stamp = frozen * STAMPS_PER_MS
    Object.assign(deps.clock, { now: () => frozen, stamp: () => stamp++ })
    for (let at = 0; at < 150; at++) await call('POST', '/v10/projects/web/domains', { name: `d${at}.example.com` })
    assert.ok(stamp < (frozen + 1) * STAMPS_PER_MS)
    Object.assign(deps.clock, running)
    for (const order of ['DESC', 'ASC']) {
      const seen: string[] = []
      let until: number | null = null
      let pages = 0
      do {
        const from: string = until === null ? '' : `&until=${until}`
        const { body, headers } = await call('GET', `/v9/projects/web/domains?limit=40&order=${order}${from}`)
        seen.push(...named(body.domains))
        assert.equal(body.pagination.count, body.domains.length)
        assert.equal(body.pagination.prev === null, until === null)
        assert.equal(headers.link === undefined, body.pagination.next === null)
        if (until !== null && body.pagination.next !== null)
          assert.ok(order === 'DESC' ? body.pagination.next < until : body.pagination.next > until)
        until = body.pagination.next
        pages++
      } while (until !== null)
      assert.equal(pages, 4)
      assert.equal(seen.length, 150)
      assert.equal(new Set(seen).size, 150)
    }
    const count = async (query: string) =>
      (await call('GET', `/v9/projects/web/domains?limit=100&${query}`)).body.domains.length
    assert.equal(await count(`until=${frozen}`), 0)
    assert.equal(await count(`since=${frozen}`), 0)
    assert.equal(await count(`since=${frozen - 1}&until=${frozen + 1}`), 100)
    assert.equal(await count(`order=ASC&until=${frozen}`), 0)
    // The Link of a rising list goes on without losing the bound that ends it.
    const first = await call('GET', `/v9/projects/web/domains?limit=100&order=ASC&until=${frozen + 1}`)
    const next = /^<([^>]+)>/.exec(String(first.headers.link))![1]!
    assert.match(next, new RegExp(`until=${frozen + 1}`))
    const rest = (await call('GET', next as '/v9/projects/web/domains')).body
    assert.equal(rest.domains.length, 50)
    assert.equal(new Set([...named(first.body.domains), ...named(rest.domains)]).size, 150)
  },
)

onBothEngines('the domains of an apex are listed over all projects that the token sees', async (world) => {
  const { call } = world
  await seedDomains(world, ['a.example.com', 'b.example.com', 'x.example.org'])
  const second = await seedDomains(world, ['c.example.com'], 'second')
  const list = async (as = call, query = '') =>
    (await as('GET', `/v1/domains/example.com/project-domains?${query}`)).body
  const all = await list()
  assert.deepEqual(named(all.projectDomains), ['c.example.com', 'b.example.com', 'a.example.com'])
  assert.equal(all.projectDomains[0].projectId, second.id)
  assert.deepEqual(all.pagination, { count: 3, next: null, prev: null })
  assert.deepEqual(named((await list(await world.token({ projectIds: [second.id] }))).projectDomains), [
    'c.example.com',
  ])
  const first = await list(call, 'limit=2')
  assert.deepEqual(named((await list(call, `limit=2&until=${first.pagination.next}`)).projectDomains), [
    'a.example.com',
  ])
  assert.equal((await call.try('GET', '/v1/domains/no%20name/project-domains')).status, 404)
})
