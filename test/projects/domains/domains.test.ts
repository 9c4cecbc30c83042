/** Adding, reading, updating and removing a domain: operations 10, 12, 13 and 14. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { events, named, seedDomains } from '../../support/worlds/domain-world.ts'

onBothEngines('adding a domain returns the same as reading it, and emits an event', async (world) => {
  const { call } = world
  const project = await seedDomains(world, [])
  const { status, body } = await call('POST', '/v10/projects/web/domains', {
    name: 'www.example.com',
    gitBranch: 'next',
  })
  assert.equal(status, 200)
  assert.deepEqual(
    { ...body, createdAt: 0, updatedAt: 0, checkedUntil: 0, verification: 0 },
    {
      name: 'www.example.com',
      apexName: 'example.com',
      projectId: project.id,
      verified: false,
      gitBranch: 'next',
      redirect: null,
      redirectStatusCode: null,
      customEnvironmentId: null,
      checkedUntil: 0,
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
      customEnvironmentId: null,
    },
  })
})

onBothEngines(
  'an unknown domain is 404, and 400 at verify; another account sees neither project nor domain',
  async (world) => {
    const { call, user } = world
    await seedDomains(world, ['example.com'])
    const eve = await user('eve')
    const at = '/v9/projects/web/domains'
    for (const [caller, path] of [
      [call, `${at}/other.example.com`],
      [call, '/v9/projects/none/domains/example.com'],
      [eve.call, `${at}/example.com`],
    ] as const) {
      for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
        const answer = await caller.try(method, path, method === 'PATCH' ? {} : undefined)
        assert.equal(answer.status, 404)
        assert.equal(answer.body.error.code, 'not_found')
      }
    }
    const missing = await call.try('DELETE', `${at}/other.example.com`)
    assert.equal(missing.body.error.message, 'The domain "other.example.com" is not assigned to "web".')
    const unassigned = await call.try('POST', `${at}/other.example.com/verify`)
    assert.equal(unassigned.status, 400)
    assert.equal(unassigned.body.error.code, 'domain_not_assigned')
    assert.equal((await call.try('POST', '/v9/projects/none/domains/example.com/verify')).status, 404)
    assert.equal((await eve.call.try('POST', `${at}/example.com/verify`)).status, 404)
    assert.equal((await eve.call.try('GET', at)).status, 404)
    assert.deepEqual((await eve.call('GET', '/v1/domains/example.com/project-domains')).body.projectDomains, [])
  },
)

onBothEngines('the event of an update has the former domain and the new one', async (world) => {
  await seedDomains(world, ['a.example.com'])
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
    await seedDomains(world, names, project)
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
    (await call.try('DELETE', '/v9/projects/again/domains/aside.example.com', { removeRedirects: 'x' })).status,
    400,
  )
})

onBothEngines('a domain takes at most 100 redirects with it, and one more changes nothing', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const path = '/v10/projects/web/domains'
  await call('POST', path, { name: 'end.example.com' })
  const add = (at: number) => call('POST', path, { name: `r${at}.example.com`, redirect: 'end.example.com' })
  for (let at = 0; at < 101; at++) assert.equal((await add(at)).status, 200)
  const count = async () => (await call('GET', '/v9/projects/web/domains?limit=100')).body.domains.length
  const remove = () => call.try('DELETE', '/v9/projects/web/domains/end.example.com', { removeRedirects: true })
  const refused = await remove()
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'])
  assert.match(refused.body.error.message, /More than 100 domains redirect to end\.example\.com/)
  assert.equal((await call('GET', '/v9/projects/web/domains/end.example.com')).status, 200)
  assert.equal((await call('DELETE', '/v9/projects/web/domains/r0.example.com')).status, 200)
  assert.equal((await remove()).status, 200)
  assert.equal(await count(), 0)
})

onBothEngines('an empty body with a JSON content type is none', async (world) => {
  await seedDomains(world, ['a.example.com', 'b.example.com'])
  const json = { 'content-type': 'application/json' }
  const removed = await world.call('DELETE', '/v9/projects/web/domains/a.example.com', '', json)
  assert.equal(removed.status, 200)
  const verify = await world.call.try('POST', '/v9/projects/web/domains/none.example.com/verify', '', json)
  assert.equal(verify.body.error.code, 'domain_not_assigned')
})

onBothEngines('a project that is deleted takes its domains with it, also while one is being added', async (world) => {
  const { call, deps } = world
  await seedDomains(world, ['a.example.com', 'b.example.com'])
  await seedDomains(world, ['kept.example.com'], 'second')
  assert.equal((await call('DELETE', '/v9/projects/web')).status, 204)
  assert.deepEqual(named(await deps.db.read.selectFrom('project_domain').select('name').execute()), [
    'kept.example.com',
  ])
  assert.equal((await call('POST', '/v10/projects/second/domains', { name: 'a.example.com' })).status, 200)
  for (let round = 0; round < 20; round++) {
    const project = await seedDomains(world, [], `gone${round}`)
    const [added] = await Promise.all([
      call.try('POST', `/v10/projects/${project.id}/domains`, { name: `x${round}.example.com` }),
      call('DELETE', `/v9/projects/${project.id}`),
    ])
    assert.ok([200, 404].includes(added.status), added.text)
    const left = await deps.db.read
      .selectFrom('project_domain')
      .select('name')
      .where('project_id', '=', project.id)
      .execute()
    assert.deepEqual(left, [])
  }
})
