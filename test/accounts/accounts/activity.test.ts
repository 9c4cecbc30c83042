/** Who changed what in an account, and teams that users create. docs/accounts.md: Activity, Teams. */
import assert from 'node:assert/strict'
import { callWith } from '../../support/call.ts'
import { seedDeployment } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedInstallation } from '../../support/worlds/integration-world.ts'

onBothEngines(
  'the activity of an account has the changes in it with their actors, and nothing of others',
  async (world) => {
    const { teamId } = world.credentials
    const team = callWith(world.call, `teamId=${teamId}`)
    const guest = await world.user('guest')
    await world.join(guest, 'MEMBER')
    const { id } = (await team('POST', '/v10/projects', { name: 'web' })).body
    await world.call('POST', '/v10/projects', { name: 'elsewhere' })
    await callWith(guest.call, `teamId=${teamId}`)('PATCH', '/v9/projects/web', { devCommand: 'a value of mine' })
    const { call } = await seedInstallation(world)
    await callWith(call, `teamId=${teamId}`)('POST', '/v10/projects', { name: 'of-app' })

    const all = await team('GET', '/v1/activity?limit=100')
    assert.equal(all.status, 200, all.text)
    assert.doesNotMatch(all.text, /a value of mine/)
    const lines = all.body.entries.map(({ type, actor, subjectId, fields }) => [
      type,
      actor.kind,
      actor.name,
      subjectId,
      fields,
    ])
    const [ofApp] = all.body.entries.filter(({ actor }) => actor.kind === 'integration')
    assert.deepEqual([ofApp!.type, ofApp!.actor.name], ['createProject', 'Helper'])
    assert.deepEqual(
      lines.filter(([, , , subject]) => subject === id),
      [
        ['updateProject', 'user', 'guest', id, ['devCommand']],
        ['createProject', 'user', 'admin', id, ['name']],
      ],
    )
    const own = await world.call('GET', '/v1/activity?limit=100&type=createProject')
    assert.equal(own.body.entries.length, 1)
    const byGuest = await team('GET', `/v1/activity?actorId=${guest.id}`)
    assert.ok(byGuest.body.entries.length > 0)
    assert.ok(byGuest.body.entries.every(({ actor }) => actor.id === guest.id))
    const page = await team('GET', '/v1/activity?limit=1')
    assert.deepEqual(page.body.entries, [all.body.entries[0]])
    const next = await team('GET', `/v1/activity?limit=1&until=${page.body.pagination.next}`)
    assert.deepEqual(next.body.entries, [all.body.entries[1]])
    const { at } = all.body.entries[0]!
    const latest = await team('GET', `/v1/activity?limit=100&since=${at}`)
    assert.deepEqual(latest.body.entries[0], all.body.entries[0])
    assert.ok(latest.body.entries.every((entry) => entry.at >= at))
    assert.deepEqual((await team('GET', `/v1/activity?limit=100&since=${at + 1}`)).body.entries, [])
  },
)

onBothEngines(
  'the activity of a project has what is in it, also what is gone, and nothing of other projects',
  async (world) => {
    const call = callWith(world.call, `teamId=${world.credentials.teamId}`)
    const { id } = (await call('POST', '/v10/projects', { name: 'web' })).body
    const { id: otherId } = (await call('POST', '/v10/projects', { name: 'other' })).body
    const of = async (projectId: string) =>
      (await call('GET', `/v1/activity?limit=100&projectId=${projectId}`)).body.entries.map(({ type }) => type)
    const variable = { key: 'A', value: '1', target: ['preview'] }
    const { id: envId } = (await call('POST', '/v10/projects/web/env', variable)).body.created
    await call('GET', `/v1/projects/web/env/${envId}`)
    await call('DELETE', `/v9/projects/web/env/${envId}`)
    await call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
    await call('DELETE', '/v9/projects/web/domains/www.example.com')
    const deployment = await seedDeployment(world, id, { url: 'one.host.test', target: 'preview' })
    await call('DELETE', `/v13/deployments/${deployment}`)
    await call('POST', '/v10/projects/other/env', variable)
    await call('PATCH', '/v9/projects/other', { devCommand: 'x' })
    await call('PATCH', '/v9/projects/web', { name: 'renamed' })
    await world.deps.secretReads.write()
    assert.deepEqual((await of(id)).toSorted(), [
      'addProjectDomain',
      'createProject',
      'createProjectEnv',
      'deleteDeployment',
      'getProjectEnv',
      'removeProjectDomain',
      'removeProjectEnv',
      'updateProject',
    ])
    assert.deepEqual(await of(otherId), ['updateProject', 'createProjectEnv', 'createProject'])
    assert.deepEqual(await of('prj_unknown'), [])
    // The entries of an earlier version have no project.
    await tamper(world, 'audit', { project_id: null })
    assert.deepEqual(await of(id), ['updateProject', 'createProject'])
    await call('DELETE', `/v9/projects/${id}`)
    assert.deepEqual(await of(id), ['deleteProject', 'updateProject', 'createProject'])
    const rival = await world.user('rival')
    assert.deepEqual((await rival.call('GET', `/v1/activity?projectId=${id}`)).body.entries, [])
    assert.equal((await world.operator('GET', '/operator/v1/audit/verify')).body.verified, true)
  },
)

onBothEngines(
  'the events of an account are the lines of its activity, by type, project, actor and time',
  async (world) => {
    const { teamId, userId } = world.credentials
    const team = callWith(world.call, `teamId=${teamId}`)
    const { id } = (await team('POST', '/v10/projects', { name: 'web' })).body
    await team('PATCH', '/v9/projects/web', { devCommand: 'a value of mine' })
    await world.call('POST', '/v10/projects', { name: 'elsewhere' })
    const { call, installationId } = await seedInstallation(world)
    await callWith(call, `teamId=${teamId}`)('POST', '/v10/projects', { name: 'of-app' })

    const { entries } = (await team('GET', '/v1/activity?limit=100')).body
    const all = await team('GET', '/v3/events?limit=101')
    assert.doesNotMatch(all.text, /a value of mine/)
    const { events } = all.body
    assert.deepEqual(
      events.map(({ id, createdAt, userId }) => [id, createdAt, userId]),
      entries.map(({ id, at, actor }) => [id, at, actor.id]),
    )
    const texts = async (query: string) =>
      (await team('GET', `/v3/events?${query}`)).body.events.map(({ text }) => text)
    const [updated, created] = [`admin: updateProject ${id} (devCommand)`, `admin: createProject ${id} (name)`]
    assert.deepEqual(await texts(`projectIds=${id}`), [updated, created])
    assert.deepEqual(await texts(`projectIds=${id}&types=deleteProject,createProject`), [created])
    assert.equal((await texts(`principalId=${userId}`)).length, (await texts(`userId=${userId}`)).length)
    const [ofApp] = events.filter(({ userId }) => userId === installationId)
    assert.deepEqual(ofApp!.principal, { type: 'app', clientId: installationId, name: 'Helper' })
    const first = events.find(({ text }) => text === created)!
    const person = { type: 'user', uid: userId, username: 'admin', slug: 'admin', email: '', avatar: '' }
    assert.deepEqual([first.principal, first.entities], [person, [{ type: 'author', start: 0, end: 'admin'.length }]])

    const { createdAt } = first
    const at = new Date(createdAt).toISOString()
    for (const moment of [at, `${createdAt}`]) {
      assert.ok((await texts(`projectIds=${id}&since=${moment}&until=${moment}`)).includes(created), moment)
      const before = events.filter((event) => event.createdAt <= createdAt).map(({ text }) => text)
      assert.deepEqual(await texts(`limit=100&until=${moment}`), before)
    }
    assert.ok(!(await texts(`projectIds=${id}&since=${createdAt + 1}`)).includes(created))
    assert.ok(!(await texts(`projectIds=${id}&until=${createdAt - 1}`)).includes(created))
    for (const wrong of ['since=yesterday', 'until=-1', `since=${Number.MAX_SAFE_INTEGER}`, 'entityId=x', 'limit=102'])
      assert.equal((await team.try('GET', `/v3/events?${wrong}`)).status, 400, wrong)
  },
)

onBothEngines('a caller who does not see the whole account does not see who changed it', async (world) => {
  const { teamId } = world.credentials
  const { id } = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).body
  const asked = async (call: typeof world.call) => {
    const team = callWith(call, `teamId=${teamId}`)
    const [own, events] = [await team.try('GET', '/v1/activity'), await team.try('GET', '/v3/events')]
    assert.equal(events.status, own.status)
    return own.status
  }
  for (const [role, status] of Object.entries({ VIEWER: 200, DEVELOPER: 200, BILLING: 403 })) {
    const person = await world.user(role.toLowerCase())
    await world.join(person, role)
    assert.equal(await asked(person.call), status, role)
  }
  const stranger = await world.user('stranger')
  assert.equal(await asked(stranger.call), 403)
  assert.equal(await asked(await world.token({ teamId, projectIds: [id] })), 403)
  assert.equal(await asked(await world.token({ teamId, scopes: ['read:project', 'read:team'] })), 403)
})

onBothEngines(
  'a user creates at most 20 teams, by a token that is not limited, and names are taken once',
  async (world) => {
    const { teamId } = world.credentials
    const guest = await world.user('guest')
    const bound = await world.token({ teamId })
    assert.equal((await bound.try('POST', '/v1/teams', { slug: 'mine' })).status, 403)
    const made = await guest.call('POST', '/v1/teams', { slug: 'crew', name: 'The crew' })
    assert.deepEqual([made.status, made.body.slug, made.body.name], [200, 'crew', 'The crew'], made.text)
    assert.equal((await guest.call('GET', `/v2/teams/${made.body.id}`)).body.membership.role, 'OWNER')
    assert.equal((await guest.call.try('POST', '/v1/teams', { slug: 'team' })).status, 409)
    const both = await Promise.all(
      [world.call, guest.call].map((call) => call.try('POST', '/v1/teams', { slug: 'race' })),
    )
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409])
    const owned = both[1]!.status === 200 ? 2 : 1
    for (let at = owned; at < 20; at++) {
      assert.equal((await guest.call('POST', '/v1/teams', { slug: `crew-${at}` })).status, 200)
    }
    const full = await guest.call.try('POST', '/v1/teams', { slug: 'one-more' })
    assert.deepEqual([full.status, full.body.error.code], [409, 'conflict'])
  },
)
