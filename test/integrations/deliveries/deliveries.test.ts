/** The deliveries to a webhook, as its owners see them: listed, shown with attempts, and sent again. docs/webhooks.md. */

import assert from 'node:assert/strict'
import { callWith } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { addRows, endDeliveries } from '../../support/states.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const BOTH = ['project.created', 'project.removed']

const listed = async (call: Call, id: string, query = '') => {
  const answer = await call('GET', `/v1/webhooks/${id}/deliveries${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

/** A call that names the first team. */
const ofTeam = (world: World, call: Call) => callWith(call, `teamId=${world.credentials.teamId}`)

onBothEngines('a webhook that was narrowed is not sent events of other projects that waited for it', async (world) => {
  const kept = await seedProject(world, 'kept')
  await seedProject(world, 'other')
  const hook = { url: 'https://hooks.example.com', events: ['project.renamed'] }
  const { id } = (await world.call('POST', '/v1/webhooks', hook)).body
  for (const name of ['kept', 'other']) await world.call('PATCH', `/v9/projects/${name}`, { name: `${name}-2` })
  assert.equal((await world.call('PATCH', `/v1/webhooks/${id}`, { projectIds: [kept] })).status, 200)
  await world.operator('POST', '/operator/v1/timers/deliveries/run', {})
  const { deliveries } = (await world.operator('GET', `/operator/v1/webhook-deliveries?endpointId=${id}`)).body
  const statuses = deliveries.map((delivery: { status: string }) => delivery.status).sort()
  assert.deepEqual(statuses, ['dropped', 'pending'])
})

onBothEngines(
  'a user who may see a webhook lists its deliveries, by status and event, page by page, and sends one again',
  async (world, t) => {
    const hook = await receiver(t)
    hook.answer((response) => response.writeHead(500).end('no'))
    const { id } = await register(world, hook.url, BOTH)
    const other = await register(world, hook.url, BOTH)
    for (const name of ['a', 'b', 'c']) await seedProject(world, name)
    await world.call('DELETE', '/v9/projects/a')
    await deliver(world)

    const all = await listed(world.call, id)
    assert.deepEqual(
      all.deliveries.map((one: { type: string }) => one.type),
      ['project.removed', 'project.created', 'project.created', 'project.created'],
    )
    assert.ok(all.deliveries.every((one: { endpointId: string }) => one.endpointId === id))
    assert.equal(all.deliveries[0].attempts[0].statusCode, 500)
    // No user can read a service of a private network through Berth.
    assert.equal(all.deliveries[0].attempts[0].response, null)
    for (const type of ['project.removed', 'project-removed'])
      assert.equal((await listed(world.call, id, `?type=${type}`)).deliveries.length, 1)
    assert.equal((await listed(world.call, id, '?type=domain.created')).deliveries.length, 0)
    assert.equal((await listed(world.call, id, '?status=pending')).deliveries.length, 4)
    assert.equal((await listed(world.call, id, '?status=delivered')).deliveries.length, 0)
    const ids: string[] = []
    for (let until = ''; ; ) {
      const page = await listed(world.call, id, `?limit=3${until}`)
      ids.push(...page.deliveries.map((one: { id: string }) => one.id))
      if (page.pagination.next === null) break
      until = `&until=${page.pagination.next}`
    }
    assert.deepEqual(
      ids,
      all.deliveries.map((one: { id: string }) => one.id),
    )

    const [first] = all.deliveries
    const path = `/v1/webhooks/${id}/deliveries/${first.id}` as const
    const { request, ...one } = (await world.call('GET', path)).body
    assert.deepEqual(one, first)
    const sent = hook.got.filter(({ headers }) => headers['webhook-id'] === first.eventId)
    assert.deepEqual(new Set(sent.map(({ text }) => text)), new Set([request]), 'the bytes that the receiver got')
    const elsewhere = await world.call.try('GET', `/v1/webhooks/${other.id}/deliveries/${first.id}`)
    assert.deepEqual([elsewhere.status, elsewhere.body.error.code], [404, 'not_found'])

    hook.answer((response) => response.end('yes'))
    await deliver(world, Date.now() + 6000)
    const done = (await world.call('GET', path)).body
    assert.deepEqual([done.status, done.attempts.length], ['delivered', 2])
    const again = await world.call('POST', `${path}/replay`)
    assert.deepEqual([again.status, again.body.status], [202, 'pending'])
    const twice = await world.call.try('POST', `${path}/replay`)
    assert.deepEqual([twice.status, twice.body.error.code], [409, 'conflict'])
    await deliver(world)
    const same = hook.got.filter(({ headers }) => headers['webhook-id'] === first.eventId)
    assert.equal(same.length, 5)
    assert.equal((await world.call('GET', path)).body.attempts.length, 3)
  },
  LOCAL,
)

onBothEngines('the answer of a receiver is shown where private networks are refused', async (world) => {
  const { id } = await register(world, 'https://hooks.example.com', BOTH)
  await seedProject(world, 'a')
  const [{ id: deliveryId }] = (await listed(world.call, id)).deliveries
  const attempt = { delivery_id: deliveryId, attempt: 1, at: 1, status_code: 500, duration_ms: 3, response: 'why not' }
  await addRows(world, 'delivery_attempt', [attempt])
  const shown = (await world.call('GET', `/v1/webhooks/${id}/deliveries/${deliveryId}`)).body
  assert.equal(shown.attempts[0].response, 'why not')
})

onBothEngines(
  'each role, limited token and installation sees and resends the deliveries of the webhooks that it may see and change, and no others',
  async (world) => {
    const team = ofTeam(world, world.call)
    const url = 'https://hooks.example.com'
    const projectId = (await team('POST', '/v10/projects', { name: 'seen' })).body.id
    const { id } = (await team('POST', '/v1/webhooks', { url, events: BOTH })).body
    await team('POST', '/v10/projects', { name: 'b' })
    const [{ id: deliveryId }] = (await listed(team, id)).deliveries
    const path = `/v1/webhooks/${id}/deliveries/${deliveryId}` as const
    await endDeliveries(world, 'failed')

    const as = async (role: string) => {
      const user = await world.user(role.toLowerCase())
      await world.operator('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${user.id}`, { role })
      return ofTeam(world, user.call)
    }
    const [viewer, billing, member] = [await as('VIEWER'), await as('BILLING'), await as('MEMBER')]
    assert.equal((await viewer('GET', path)).status, 200)
    assert.equal((await viewer.try('POST', `${path}/replay`)).status, 403)
    assert.equal((await billing.try('GET', path)).status, 403)
    assert.equal((await member('POST', `${path}/replay`)).status, 202)

    // A token that is limited to a project sees no webhook that receives events of others. Of one that received some before, it does not see those events.
    const narrow = ofTeam(world, await world.token({ projectIds: [projectId], teamId: world.credentials.teamId }))
    assert.equal((await narrow.try('GET', `/v1/webhooks/${id}/deliveries`)).status, 404)
    await team('PATCH', `/v1/webhooks/${id}`, { projectIds: [projectId] })
    await team('DELETE', `/v9/projects/${projectId}`)
    const told = (await listed(narrow, id)).deliveries
    assert.deepEqual(
      told.map((one: { type: string }) => one.type),
      ['project.removed'],
    )
    assert.equal((await narrow.try('GET', path)).status, 404)
    assert.equal((await narrow.try('POST', `${path}/replay`)).status, 404)
    assert.equal((await narrow('GET', `/v1/webhooks/${id}/deliveries/${told[0].id}`)).status, 200)

    const scopes = ['read-write:integration-configuration', 'read-write:project']
    const installed = await seedInstallation(world, { scopes })
    const own = ofTeam(world, installed.call)
    assert.equal((await own.try('GET', `/v1/webhooks/${id}/deliveries`)).status, 404)
    assert.equal((await own.try('POST', `${path}/replay`)).status, 404)
    const its = (await own('POST', '/v1/webhooks', { url, events: BOTH })).body
    await team('POST', '/v10/projects', { name: 'c' })
    assert.equal((await listed(own, its.id)).deliveries.length, 1)

    const rival = await world.user('rival')
    for (const tail of ['', `/${deliveryId}`]) {
      const answer = await rival.call.try('GET', `/v1/webhooks/${id}/deliveries${tail}`)
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
    }
  },
)

onBothEngines(
  'a team sees the deliveries to its integration, and a user who may change the integration sends them again',
  async (world) => {
    const app = await seedIntegration(world, { webhookUrl: 'https://hooks.example.com' })
    const { call } = await seedInstallation(world, { app })
    await ofTeam(world, world.call)('POST', '/v10/projects', { name: 'a' })
    const team = ofTeam(world, world.call)
    const { webhookId } = (await team('GET', `/v1/integrations/apps/${app.id}`)).body
    const installation = ofTeam(world, call)
    const { deliveries } = await listed(team, webhookId)
    const path = `/v1/webhooks/${webhookId}/deliveries/${deliveries[0].id}` as const
    assert.equal((await installation.try('GET', path)).status, 403)
    await endDeliveries(world, 'dropped')
    assert.equal((await listed(team, webhookId, '?status=dropped')).deliveries.length, deliveries.length)
    const member = await world.user('member')
    const place = `/operator/v1/teams/${world.credentials.teamId}/members/${member.id}` as const
    await world.operator('PUT', place, { role: 'MEMBER' })
    const asMember = ofTeam(world, member.call)
    assert.equal((await asMember('GET', path)).status, 200)
    assert.equal((await asMember.try('POST', `${path}/replay`)).status, 403)
    assert.equal((await team('POST', `${path}/replay`)).status, 202)
    // A token that is limited to a project does not see it, and neither does another account that installed the integration.
    const [{ id: projectId }] = (await team('GET', '/v9/projects')).body.projects
    const narrow = ofTeam(world, await world.token({ projectIds: [projectId], teamId: world.credentials.teamId }))
    assert.equal((await narrow.try('GET', path)).status, 404)
    const rival = await world.user('rival')
    assert.equal((await rival.call.try('GET', path)).status, 404)
  },
)
