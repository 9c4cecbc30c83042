/** Operations 10 to 14 and the paths beside them, as the specification and decisions.md say them. */
import assert from 'node:assert/strict'
import { STAMPS_PER_MS } from '../src/clock.ts'
import { onBothEngines, type World } from './world.ts'

/** A project with these domains, all verified (the platform suffix needs no proof). */
async function withDomains({ call }: World, names: string[], project = 'web') {
  const made = await call('POST', '/v10/projects', { name: project })
  for (const name of names) {
    const added = await call('POST', `/v10/projects/${project}/domains`, { name })
    assert.equal(added.status, 200, added.text)
  }
  return made.body
}

const named = (list: { name: string }[]) => list.map(({ name }) => name)
const events = async ({ deps }: World) =>
  (await deps.db.read.selectFrom('event').selectAll().orderBy('created_stamp').execute())
    .filter((event) => event.type.startsWith('project.domain.'))
    .map((event) => ({ type: event.type, projectId: event.project_id, payload: JSON.parse(event.payload_json) }))

onBothEngines('an added domain is answered whole, as it is read, and told of', async (world) => {
  const { call } = world
  const project = await withDomains(world, [])
  const { status, body } = await call('POST', '/v10/projects/web/domains', {
    name: 'www.example.com',
    gitBranch: 'next',
  })
  assert.equal(status, 200)
  assert.deepEqual(
    { ...body, createdAt: 0, updatedAt: 0, verification: 0 },
    {
      name: 'www.example.com',
      apexName: 'example.com',
      projectId: project.id,
      verified: false,
      gitBranch: 'next',
      redirect: null,
      redirectStatusCode: null,
      customEnvironmentId: null,
      createdAt: 0,
      updatedAt: 0,
      verification: 0,
    },
  )
  assert.ok(Math.abs(Date.now() - body.createdAt) < 10_000 && body.updatedAt >= body.createdAt)
  assert.deepEqual((await call('GET', `/v9/projects/${project.id}/domains/www.example.com`)).body, body)
  const [event] = await events(world)
  assert.equal(event!.type, 'project.domain.created')
  assert.equal(event!.projectId, project.id)
  assert.deepEqual(event!.payload, {
    team: { id: null },
    user: { id: world.credentials.userId },
    project: { id: project.id, name: 'web' },
    domain: {
      name: 'www.example.com',
      apexName: 'example.com',
      verified: false,
      gitBranch: 'next',
      redirect: null,
      redirectStatusCode: null,
    },
  })
})

onBothEngines(
  'what is not there is 404, and 400 at verify; another account sees neither project nor domain',
  async (world) => {
    const { call, user } = world
    await withDomains(world, ['example.com'])
    const eve = await user('eve')
    const at = '/v9/projects/web/domains'
    for (const [who, path] of [
      [call, `${at}/other.example.com`],
      [call, '/v9/projects/none/domains/example.com'],
      [eve.call, `${at}/example.com`],
    ] as const) {
      for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
        const answer = await who(method, path, method === 'PATCH' ? {} : undefined)
        assert.equal(answer.status, 404)
        assert.equal(answer.body.error.code, 'not_found')
      }
    }
    const missing = await call('DELETE', `${at}/other.example.com`)
    assert.equal(missing.body.error.message, 'The domain "other.example.com" is not assigned to "web".')
    const unassigned = await call('POST', `${at}/other.example.com/verify`)
    assert.equal(unassigned.status, 400)
    assert.equal(unassigned.body.error.code, 'domain_not_assigned')
    assert.equal((await call('POST', '/v9/projects/none/domains/example.com/verify')).status, 404)
    assert.equal((await eve.call('POST', `${at}/example.com/verify`)).status, 404)
    assert.equal((await eve.call('GET', at)).status, 404)
    assert.deepEqual((await eve.call('GET', '/v1/domains/example.com/project-domains')).body.projectDomains, [])
  },
)

onBothEngines(
  'redirects go to another domain of the project, never to themselves, elsewhere, or in a circle',
  async (world) => {
    const { call } = world
    await withDomains(world, ['a.example.com', 'b.example.com', 'c.example.com', '*.d.example.com'])
    await withDomains(world, ['other.example.org'], 'second')
    const patch = (name: string, body: object) => call('PATCH', `/v9/projects/web/domains/${name}.example.com`, body)
    const add = (body: object) => call('POST', '/v10/projects/web/domains', { name: 'new.example.com', ...body })
    const bad: [object, string][] = [
      [{ redirect: 'new.example.com' }, 'redirect_to_itself'],
      [{ redirect: 'NEW.example.com.' }, 'redirect_to_itself'],
      [{ redirect: 'other.example.org' }, 'invalid_redirect'],
      [{ redirect: 'nowhere.example.com' }, 'invalid_redirect'],
      [{ redirect: '*.d.example.com' }, 'invalid_redirect'],
      [{ redirect: 'not a name' }, 'invalid_redirect'],
      [{ redirect: 'https://a.example.com' }, 'invalid_redirect'],
      [{ redirect: 'a.example.com', gitBranch: 'next' }, 'branch_and_redirect'],
      [{ redirectStatusCode: 301 }, 'bad_request'],
    ]
    for (const [body, code] of bad) {
      const answer = await add(body)
      assert.equal(answer.status, 400)
      assert.equal(answer.body.error.code, code, JSON.stringify(body))
    }
    assert.equal((await call('GET', '/v9/projects/web/domains/new.example.com')).status, 404)

    const first = await patch('a', { redirect: 'B.example.com', redirectStatusCode: 308 })
    assert.equal(first.status, 200)
    assert.equal(first.body.redirect, 'b.example.com')
    assert.equal(first.body.redirectStatusCode, 308)
    assert.equal((await patch('b', { redirect: 'c.example.com' })).status, 200)
    for (const target of ['a', 'b']) {
      const circle = await patch('c', { redirect: `${target}.example.com` })
      assert.equal(circle.status, 400)
      assert.equal(circle.body.error.code, 'invalid_redirect')
      assert.match(circle.body.error.message, /circle/)
    }
    assert.equal((await patch('c', { redirect: 'c.example.com' })).body.error.code, 'redirect_to_itself')
    // A branch on a domain that redirects, and a redirect on one with a branch, unless the other is cleared in the same request.
    assert.equal((await patch('a', { gitBranch: 'next' })).body.error.code, 'branch_and_redirect')
    const switched = await patch('a', { gitBranch: 'next', redirect: null })
    assert.equal(switched.status, 200)
    assert.deepEqual(
      [switched.body.gitBranch, switched.body.redirect, switched.body.redirectStatusCode],
      ['next', null, null],
    )
    assert.equal((await patch('a', { redirect: 'b.example.com' })).body.error.code, 'branch_and_redirect')
    assert.equal((await patch('a', { redirect: null, redirectStatusCode: 301 })).body.error.code, 'bad_request')
    assert.equal((await patch('b', { redirectStatusCode: 302 })).body.redirectStatusCode, 302)
    assert.equal((await patch('b', { redirectStatusCode: null })).body.redirectStatusCode, null)
    assert.equal((await patch('b', {})).body.redirect, 'c.example.com')
  },
)

onBothEngines('a chain of redirects has an end', async (world) => {
  const names = Array.from({ length: 13 }, (_, at) => `d${at}.example.com`)
  await withDomains(world, names)
  const statuses = []
  for (let at = 1; at < names.length; at++) {
    const patched = await world.call('PATCH', `/v9/projects/web/domains/${names[at]}`, { redirect: names[at - 1] })
    statuses.push(patched.status)
  }
  assert.deepEqual(statuses, [...Array(10).fill(200), 400, 200])
})

onBothEngines('of two redirects that would close a circle at once one is refused', async (world) => {
  for (let round = 0; round < 15; round++) {
    const names = [`a${round}.example.com`, `b${round}.example.com`] as const
    await withDomains(world, [...names], `web${round}`)
    const redirect = (from: string, to: string) =>
      world.call('PATCH', `/v9/projects/web${round}/domains/${from}`, { redirect: to })
    const answers = await Promise.all([redirect(names[0], names[1]), redirect(names[1], names[0])])
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 400])
  }
})

onBothEngines('an update tells what it was and what it is', async (world) => {
  await withDomains(world, ['a.example.com'])
  await world.call('PATCH', '/v9/projects/web/domains/a.example.com', { gitBranch: 'next' })
  const updated = (await events(world)).at(-1)!
  assert.equal(updated.type, 'project.domain.updated')
  assert.equal(updated.payload.previous.gitBranch, null)
  assert.equal(updated.payload.domain.gitBranch, 'next')
})

onBothEngines('removing a domain ends the redirects to it, or removes those domains too', async (world) => {
  const { call } = world
  const names = ['end', 'a', 'b', 'c', 'aside'].map((name) => `${name}.example.com`)
  const prepare = async (project: string) => {
    await withDomains(world, names, project)
    for (const [from, to] of [
      ['a', 'end'],
      ['b', 'end'],
      ['c', 'b'],
    ])
      await call('PATCH', `/v9/projects/${project}/domains/${from}.example.com`, {
        redirect: `${to}.example.com`,
        redirectStatusCode: 301,
      })
  }
  const read = async (project: string) =>
    (await call('GET', `/v9/projects/${project}/domains?order=ASC`)).body.domains.map(
      (domain: { name: string; redirect: string | null; redirectStatusCode: number | null }) => [
        domain.name.split('.')[0],
        domain.redirect,
        domain.redirectStatusCode,
      ],
    )
  await prepare('web')
  const removed = await call('DELETE', '/v9/projects/web/domains/end.example.com')
  assert.equal(removed.status, 200)
  assert.deepEqual(removed.body, {})
  assert.deepEqual(await read('web'), [
    ['a', null, null],
    ['b', null, null],
    ['c', 'b.example.com', 301],
    ['aside', null, null],
  ])
  const told = (await events(world)).slice(-3)
  assert.deepEqual(
    told.map((event) => [event.type, event.payload.domain.name]),
    [
      ['project.domain.updated', 'a.example.com'],
      ['project.domain.updated', 'b.example.com'],
      ['project.domain.deleted', 'end.example.com'],
    ],
  )
  await call('DELETE', '/v9/projects/web')

  await prepare('again')
  const all = await call('DELETE', '/v9/projects/again/domains/end.example.com', { removeRedirects: true })
  assert.equal(all.status, 200)
  assert.deepEqual(await read('again'), [['aside', null, null]])
  assert.equal(
    (await events(world)).slice(-4).every((event) => event.type === 'project.domain.deleted'),
    true,
  )
  assert.equal(
    (await call('DELETE', '/v9/projects/again/domains/aside.example.com', { removeRedirects: 'x' })).status,
    400,
  )
})

onBothEngines('an empty body with a JSON content type is none', async (world) => {
  await withDomains(world, ['a.example.com', 'b.example.com'])
  const json = { 'content-type': 'application/json' }
  const removed = await world.call('DELETE', '/v9/projects/web/domains/a.example.com', '', json)
  assert.equal(removed.status, 200)
  const verify = await world.call('POST', '/v9/projects/web/domains/none.example.com/verify', '', json)
  assert.equal(verify.body.error.code, 'domain_not_assigned')
})

onBothEngines('a project that is deleted takes its domains with it, also while one is being added', async (world) => {
  const { call, deps } = world
  await withDomains(world, ['a.example.com', 'b.example.com'])
  await withDomains(world, ['kept.example.com'], 'second')
  assert.equal((await call('DELETE', '/v9/projects/web')).status, 204)
  assert.deepEqual(named(await deps.db.read.selectFrom('project_domain').select('name').execute()), [
    'kept.example.com',
  ])
  assert.equal((await call('POST', '/v10/projects/second/domains', { name: 'a.example.com' })).status, 200)
  for (let round = 0; round < 20; round++) {
    const project = await withDomains(world, [], `gone${round}`)
    await Promise.all([
      call('POST', `/v10/projects/${project.id}/domains`, { name: `x${round}.example.com` }),
      call('DELETE', `/v9/projects/${project.id}`),
    ])
    const left = await deps.db.read
      .selectFrom('project_domain')
      .select('name')
      .where('project_id', '=', project.id)
      .execute()
    assert.deepEqual(left, [])
  }
})

onBothEngines(
  'the list is newest first, filters by all it names, and refuses what is no value of it',
  async (world) => {
    const { call } = world
    await withDomains(world, ['one.apps.example.net', 'two.example.com', 'three.example.com', 'four.example.com'])
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
      'unknown=1': ['four', 'three', 'two', 'one'],
    }
    for (const [query, names] of Object.entries(expected)) assert.deepEqual(await list(query), names, query)
    for (const query of [
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
      assert.equal((await call('GET', `/v9/projects/web/domains?${query}`)).status, 400, query)
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines(
  '150 domains of one millisecond page to the end once each, in both orders; since and until are exclusive',
  async (world) => {
    const { call, deps } = world
    await withDomains(world, [])
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
        const { body, headers } = await call(
          'GET',
          `/v9/projects/web/domains?limit=40&order=${order}${until === null ? '' : `&until=${until}`}`,
        )
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
    const rest = (await call('GET', next)).body
    assert.equal(rest.domains.length, 50)
    assert.equal(new Set([...named(first.body.domains), ...named(rest.domains)]).size, 150)
  },
)

onBothEngines('reading needs project:read, changing needs project:write and domain:write', async (world) => {
  await withDomains(world, ['a.example.com', 'b.example.com'])
  await withDomains(world, [], 'second')
  const at = '/v9/projects/web/domains'
  const writes: [method: 'POST' | 'PATCH' | 'DELETE', url: string, body?: object][] = [
    ['POST', '/v10/projects/web/domains', { name: 'c.example.com' }],
    ['PATCH', `${at}/a.example.com`, { gitBranch: 'x' }],
    ['POST', `${at}/a.example.com/verify`],
    ['POST', '/v1/projects/web/domains/a.example.com/move', { projectId: 'second' }],
    ['POST', '/projects/web/alias', { domain: 'd.example.com' }],
    ['DELETE', '/projects/web/alias?domain=b.example.com'],
    ['DELETE', `${at}/a.example.com`],
  ]
  const reads = [at, `${at}/a.example.com`]
  for (const scopes of [
    ['read-write:project'],
    ['read-write:domain'],
    ['read-write:project', 'read:domain'],
    ['read:project', 'read-write:domain'],
  ]) {
    const call = await world.token({ scopes })
    for (const [method, url, body] of writes) {
      const answer = await call(method, url, body)
      assert.equal(answer.status, 403, `${scopes} ${method} ${url}`)
      assert.equal(answer.body.error.code, 'forbidden')
    }
  }
  const reader = await world.token({ scopes: ['read:project'] })
  for (const url of reads) assert.equal((await reader('GET', url)).status, 200)
  const domains = await world.token({ scopes: ['read-write:domain'] })
  for (const url of reads) assert.equal((await domains('GET', url)).status, 403)
  assert.equal((await domains('GET', '/v1/domains/example.com/project-domains')).status, 403)
  assert.equal((await world.as(undefined)('POST', '/v10/projects/web/domains', {})).status, 401)
  assert.deepEqual(named((await world.call('GET', at)).body.domains), ['b.example.com', 'a.example.com'])
  const both = await world.token({ scopes: ['read-write:project', 'read-write:domain'] })
  assert.equal((await both('POST', '/v10/projects/web/domains', { name: 'c.example.com' })).status, 200)
})

onBothEngines(
  'while an account owes something nothing is added; while a project is transferred nothing changes',
  async (world) => {
    const { call, operator, credentials, deps } = world
    const project = await withDomains(world, ['a.example.com'])
    const second = await withDomains(world, ['s.example.com'], 'second')
    const account = (body: object) => operator('PATCH', `/operator/v1/accounts/${credentials.userId}`, body)
    const add = () => call('POST', '/v10/projects/web/domains', { name: 'b.example.com' })
    for (const [owes, code] of [
      ['softBlocked', 'account_soft_blocked'],
      ['paymentMissing', 'payment_method_missing'],
    ] as const) {
      await account({ [owes]: true })
      const refused = await add()
      assert.equal(refused.status, 402)
      assert.equal(refused.body.error.code, code)
      assert.equal((await call('POST', '/projects/web/alias', { domain: 'b.example.com' })).status, 402)
      assert.equal((await call('PATCH', '/v9/projects/web/domains/a.example.com', {})).status, 200)
      await account({ [owes]: false })
    }
    const transfer = (moment: number | null) =>
      deps.db.write((tx) =>
        tx.updateTable('project').set({ transfer_started_at: moment }).where('id', '=', project.id).execute(),
      )
    await transfer(deps.clock.now())
    const locked = [
      await add(),
      await call('PATCH', '/v9/projects/web/domains/a.example.com', { gitBranch: 'x' }),
      await call('DELETE', '/v9/projects/web/domains/a.example.com'),
      await call('POST', '/projects/web/alias', { domain: 'b.example.com' }),
      await call('DELETE', '/projects/web/alias?domain=a.example.com'),
      await call('POST', '/v1/projects/web/domains/a.example.com/move', { projectId: second.id }),
      await call('POST', '/v1/projects/second/domains/s.example.com/move', { projectId: project.id }),
    ]
    assert.deepEqual(
      locked.map((answer) => answer.status),
      Array(7).fill(409),
    )
    assert.deepEqual(named((await call('GET', '/v9/projects/web/domains')).body.domains), ['a.example.com'])
    await transfer(null)
    assert.equal((await add()).status, 200)
  },
)

onBothEngines(
  'a domain moves to another project of the account in one step, keeps its verification, and leaves redirects behind',
  async (world) => {
    const { call, user } = world
    const web = await withDomains(world, ['a.apps.example.net', 'b.apps.example.net', 'u.example.com'])
    const second = await withDomains(world, ['t.apps.example.net'], 'second')
    await call('PATCH', '/v9/projects/web/domains/b.apps.example.net', { redirect: 'a.apps.example.net' })
    const move = (name: string, body: object, as = call) => as('POST', `/v1/projects/web/domains/${name}/move`, body)
    const eve = await user('eve')
    const foreign = (await eve.call('POST', '/v10/projects', { name: 'shop' })).body
    const before = (await call('GET', '/v9/projects/web/domains/u.example.com')).body
    assert.equal((await move('a.apps.example.net', { projectId: 'prj_none' })).status, 404)
    assert.equal((await move('a.apps.example.net', { projectId: foreign.id })).status, 404)
    assert.equal((await move('a.apps.example.net', { projectId: second.id }, eve.call)).status, 404)
    assert.equal((await move('a.apps.example.net', {})).status, 400)
    assert.equal((await move('a.apps.example.net', { projectId: web.id })).body.error.code, 'domain_already_in_use')
    const toOld = await move('a.apps.example.net', { projectId: second.id, redirect: 'b.apps.example.net' })
    assert.equal(toOld.body.error.code, 'invalid_redirect')

    const moved = await move('a.apps.example.net', {
      projectId: second.id,
      redirect: 't.apps.example.net',
      redirectStatusCode: 307,
    })
    assert.equal(moved.status, 200, moved.text)
    assert.equal(moved.body.projectId, second.id)
    assert.equal(moved.body.verified, true)
    assert.equal(moved.body.redirect, 't.apps.example.net')
    assert.equal((await call('GET', '/v9/projects/web/domains/a.apps.example.net')).status, 404)
    assert.deepEqual((await call('GET', '/v9/projects/second/domains/a.apps.example.net')).body, moved.body)
    assert.equal((await call('GET', '/v9/projects/web/domains/b.apps.example.net')).body.redirect, null)
    const event = (await events(world)).at(-1)!
    assert.equal(event.type, 'project.domain.moved')
    assert.equal(event.payload.project.id, second.id)
    assert.deepEqual(event.payload.previousProject, { id: web.id, name: 'web' })

    const claim = await move('u.example.com', { projectId: second.id })
    assert.equal(claim.body.verified, false)
    assert.notEqual(claim.body.verification[0].value, before.verification[0].value)
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines("the CLI's path adds and removes, and says which project has a name", async (world) => {
  const { call } = world
  const web = await withDomains(world, [])
  await withDomains(world, [], 'second')
  const added = await call('POST', '/projects/web/alias', { target: 'PRODUCTION', domain: 'A.example.com' })
  assert.equal(added.status, 200)
  assert.equal(added.body.length, 1)
  const { createdAt, ...alias } = added.body[0]
  assert.equal(typeof createdAt, 'number')
  assert.deepEqual(alias, {
    domain: 'a.example.com',
    environment: 'production',
    target: 'PRODUCTION',
    gitBranch: null,
    redirect: null,
    redirectStatusCode: null,
  })
  const taken = await call('POST', '/projects/second/alias', { target: 'PRODUCTION', domain: 'a.example.com' })
  assert.equal(taken.status, 409)
  assert.equal(taken.body.error.code, 'ALIAS_DOMAIN_EXIST')
  assert.deepEqual(taken.body.error.project, { id: web.id })
  assert.equal((await call('POST', '/projects/web/alias', { domain: 'a.example.com' })).status, 400)
  assert.equal((await call('POST', '/projects/web/alias', { target: 'STAGING', domain: 'b.example.com' })).status, 400)
  // What `domains add --force` does: take it from there, and add it here.
  const removed = await call('DELETE', `/projects/${web.id}/alias?domain=a.example.com`)
  assert.equal(removed.status, 200)
  assert.deepEqual(removed.body, added.body)
  assert.equal((await call('DELETE', '/projects/web/alias?domain=a.example.com')).status, 404)
  assert.equal((await call('DELETE', '/projects/web/alias')).status, 400)
  assert.equal((await call('POST', '/v9/projects/second/alias', { domain: 'a.example.com' })).status, 200)
})

onBothEngines('the domains of an apex are listed over all projects that the token sees', async (world) => {
  const { call } = world
  await withDomains(world, ['a.example.com', 'b.example.com', 'x.example.org'])
  const second = await withDomains(world, ['c.example.com'], 'second')
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
  assert.equal((await call('GET', '/v1/domains/no%20name/project-domains')).status, 400)
})
