/** Moving a domain, and the path that the CLI takes. */
import assert from 'node:assert/strict'
import { onBothEngines } from '../../support/world.ts'
import { events, seedDomains } from '../../support/worlds/domain-world.ts'

onBothEngines(
  'a domain moves to another project of the account in one step, keeps its verification, and leaves redirects behind',
  async (world) => {
    const { call, user } = world
    const web = await seedDomains(world, ['a.apps.example.net', 'b.apps.example.net', 'u.example.com'])
    const second = await seedDomains(world, ['t.apps.example.net'], 'second')
    await call('PATCH', '/v9/projects/web/domains/b.apps.example.net', { redirect: 'a.apps.example.net' })
    const move = (name: string, body: object, as = call) =>
      as.try('POST', `/v1/projects/web/domains/${name}/move`, body)
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
    assert.equal((await call.try('GET', '/v9/projects/web/domains/a.apps.example.net')).status, 404)
    assert.deepEqual((await call('GET', '/v9/projects/second/domains/a.apps.example.net')).body, moved.body)
    assert.equal((await call('GET', '/v9/projects/web/domains/b.apps.example.net')).body.redirect, null)
    // One event for each project, which names that project and not the other.
    const told = (await events(world)).slice(-2)
    assert.deepEqual(
      told.map(({ type, payload }) => [type, payload.project.id, payload.direction]),
      [
        ['project.domain.moved', web.id, 'out'],
        ['project.domain.moved', second.id, 'in'],
      ],
    )
    assert.equal(JSON.stringify(told[0]).includes(second.id), false)
    assert.equal(JSON.stringify(told[1]).includes(web.id), false)

    const claim = await move('u.example.com', { projectId: second.id })
    assert.equal(claim.body.verified, false)
    assert.notEqual(claim.body.verification[0].value, before.verification[0].value)
  },
  { BERTH_PLATFORM_SUFFIX: 'apps.example.net' },
)

onBothEngines("the CLI's path adds and removes, and says which project has a name", async (world) => {
  const { call } = world
  const web = await seedDomains(world, [])
  await seedDomains(world, [], 'second')
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
  const taken = await call.try('POST', '/projects/second/alias', { target: 'PRODUCTION', domain: 'a.example.com' })
  assert.equal(taken.status, 409)
  assert.equal(taken.body.error.code, 'ALIAS_DOMAIN_EXIST')
  assert.deepEqual(taken.body.error.project, { id: web.id })
  assert.equal((await call.try('POST', '/projects/web/alias', { domain: 'a.example.com' })).status, 400)
  assert.equal(
    (await call.try('POST', '/projects/web/alias', { target: 'STAGING', domain: 'b.example.com' })).status,
    400,
  )
  // What `domains add --force` does: take it from there, and add it here.
  const removed = await call('DELETE', `/projects/${web.id}/alias?domain=a.example.com`)
  assert.equal(removed.status, 200)
  assert.deepEqual(removed.body, added.body)
  assert.equal((await call.try('DELETE', '/projects/web/alias?domain=a.example.com')).status, 404)
  assert.equal((await call.try('DELETE', '/projects/web/alias')).status, 400)
  assert.equal((await call('POST', '/v9/projects/second/alias', { domain: 'a.example.com' })).status, 200)
})
