/** Deleting a deployment: where names point afterwards, who is allowed to, and which events are emitted. docs/deployments.md. */
import assert from 'node:assert/strict'
import { setInTransfer } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { deploymentEvents, readDomainAssignments, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

onBothEngines(
  'the removal of the deployment that serves takes production off line until the next one; all else stays',
  async (world) => {
    const web = await seedWebProject(world)
    const first = await web.deploy()
    const second = await web.deploy({ meta: { githubCommitSha: 'abc' } })
    assert.deepEqual(await readDomainAssignments(world), {
      'one.apps.example.net': second,
      'two.apps.example.net': second,
    })
    const gone = await world.call('DELETE', `/v13/deployments/${second}`)
    assert.deepEqual([gone.status, gone.body], [200, { uid: second, state: 'DELETED' }])
    assert.deepEqual(await readDomainAssignments(world), {})
    assert.equal((await world.call.try('GET', `/v13/deployments/${second}`)).status, 404)
    assertRefused(await world.call.try('DELETE', `/v13/deployments/${second}`), 404, 'not_found')
    const shown = await web.read()
    assert.deepEqual([shown.live, shown.targets, shown.latestDeployments.length], [false, {}, 1])
    assert.equal((await world.call('GET', `/v13/deployments/${first}`)).body.id, first)
    const candidates = await world.call('GET', `/v6/deployments?projectId=${web.id}&rollbackCandidate=true`)
    assert.deepEqual(
      candidates.body.deployments.map(({ uid }) => uid),
      [first],
    )
    // A domain that comes now leads nowhere, until a deployment is promoted.
    await world.call('POST', '/v10/projects/web/domains', { name: 'three.apps.example.net' })
    assert.deepEqual(await readDomainAssignments(world), {})
    assert.equal((await web.promote(first)).status, 201)
    await web.sweep()
    assert.equal(Object.values(await readDomainAssignments(world)).filter((id) => id === first).length, 3)
    const event = (await deploymentEvents(world)).find(({ type }) => type === 'deployment.cleanup')
    const told = event?.payload as { deployment: object; user: object; target: string }
    assert.deepEqual(told.deployment, {
      id: second,
      meta: { githubCommitSha: 'abc' },
      url: 'd2.host.test',
      name: 'web',
    })
    assert.deepEqual([told.user, told.target], [{ id: world.credentials.userId }, 'production'])
    const { body: log } = await world.operator('GET', '/operator/v1/audit?limit=100')
    assert.ok(log.entries.some(({ type, subjectId }) => type === 'deleteDeployment' && subjectId === second))
  },
  SETTINGS,
)

onBothEngines(
  'the names of a branch go to the newest that is left of it, a name by hand to none, those of others stay',
  async (world) => {
    const web = await seedWebProject(world, ['one'])
    const live = await web.deploy()
    const ofBranch = { target: 'preview', gitBranch: 'dev' }
    await world.call('POST', '/v10/projects/web/domains', { name: 'dev.apps.example.net', gitBranch: 'dev' })
    const older = await web.deploy(ofBranch)
    await web.deploy({ ...ofBranch, readyState: 'BUILDING' })
    const newest = await web.deploy(ofBranch)
    const hand = await world.call('POST', `/v2/deployments/${newest}/aliases`, { alias: 'one.apps.example.net' })
    assert.equal(hand.status, 200)
    assert.deepEqual(await readDomainAssignments(world), {
      'one.apps.example.net': newest,
      'dev.apps.example.net': newest,
    })
    assert.equal((await world.call('DELETE', `/now/deployments/${newest}?hard=1`)).status, 200)
    assert.deepEqual(await readDomainAssignments(world), { 'dev.apps.example.net': older })
    assert.equal((await web.read()).targets.production.id, live)
    assert.equal((await world.call('DELETE', `/v13/deployments/${older}`)).status, 200)
    assert.deepEqual(await readDomainAssignments(world), {})
    // Its host name may be had again.
    await web.deploy({ url: 'd2.host.test' })
  },
  SETTINGS,
)

onBothEngines(
  '`url` decides over the id in the path, and a promote in progress to the deleted deployment is undone',
  async (world) => {
    const web = await seedWebProject(world)
    const [one, two, three] = [await web.deploy(), await web.deploy(), await web.deploy()]
    const byUrl = await world.call('DELETE', `/v13/deployments/${one}?url=https://D2.host.test/`)
    assert.equal(byUrl.body.uid, two)
    assert.equal((await world.call('GET', `/v13/deployments/${one}`)).status, 200)
    assertRefused(await world.call.try('DELETE', `/v13/deployments/${one}?url=none.host.test`), 404, 'not_found')
    assert.equal((await web.promote(one)).status, 201)
    assert.equal((await web.read()).lastAliasRequest.toDeploymentId, one)
    assert.equal((await world.call('DELETE', `/v13/deployments/${one}`)).status, 200)
    const shown = await web.read()
    assert.deepEqual([shown.lastAliasRequest, shown.targets.production.id], [null, three])
    await web.sweep()
    assert.deepEqual(await readDomainAssignments(world), {
      'one.apps.example.net': three,
      'two.apps.example.net': three,
    })
    const rows = await world.deps.db.read.selectFrom('alias_mapping').selectAll().execute()
    assert.deepEqual(rows, [])
    assert.equal((await web.read()).latestDeployments[0].id, three)
  },
  SETTINGS,
)

onBothEngines('a deployment is not removed without the right to promote, and not during a transfer', async (world) => {
  const { teamId } = world.credentials
  const { id } = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).body
  const made = (url: string) =>
    world.operator('POST', `/operator/v1/projects/${id}/deployments`, { url, readyState: 'READY' })
  const deploymentId = (await made('a.host.test')).body.id
  const path = `/v13/deployments/${deploymentId}?teamId=${teamId}`
  for (const role of ['VIEWER', 'BILLING']) {
    const { id: userId, call } = await world.user(role.toLowerCase())
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${userId}`, { role })
    assertRefused(await call.try('DELETE', path), 403, 'forbidden')
  }
  const stranger = await world.user('stranger')
  assertRefused(await stranger.call.try('DELETE', `/v13/deployments/${deploymentId}`), 404, 'not_found')
  const narrow = await world.token({ scopes: ['read-write:deployment'], teamId })
  assertRefused(await narrow.try('DELETE', path), 403, 'forbidden')
  await setInTransfer(world, id, 1)
  assertRefused(await world.call.try('DELETE', path), 409, 'conflict')
  await setInTransfer(world, id, null)
  assert.equal((await world.call('GET', path)).status, 200)
  const { id: developer, call } = await world.user('developer')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${developer}`, { role: 'DEVELOPER' })
  assert.equal((await call('DELETE', path)).status, 200)
})

onBothEngines(
  'of two concurrent deletes of a deployment one succeeds, and a concurrent promote never assigns domains to a deleted one',
  async (world) => {
    const web = await seedWebProject(world)
    for (let round = 0; round < 5; round++) {
      const id = await web.deploy()
      const [one, two, promoted] = await Promise.all([
        world.call.try('DELETE', `/v13/deployments/${id}`),
        world.call.try('DELETE', `/v13/deployments/${id}`),
        web.promote(id),
      ])
      assert.deepEqual([one.status, two.status].toSorted(), [200, 404])
      assert.ok(promoted.status === 201 || promoted.status === 404, promoted.text)
      await web.sweep()
      assert.deepEqual(await readDomainAssignments(world), {})
      assert.equal((await web.read()).live, false)
    }
  },
  SETTINGS,
)
