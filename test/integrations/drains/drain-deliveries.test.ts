/** What was sent to a log drain, as users who may see the drain see it. docs/webhooks.md: Delivery log. */
import assert from 'node:assert/strict'
import { deliver, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines(
  'the deliveries to a drain are listed with their attempts, and lines that wait are sent now',
  async (world, t) => {
    const to = await receiver(t)
    to.answer((response) => response.writeHead(500).end())
    const { id: projectId } = (await world.call('POST', '/v10/projects', { name: 'web' })).body
    const drain = { url: to.url, sources: ['edge'], deliveryFormat: 'json' }
    const made = async (more: object) => (await world.call('POST', '/v1/log-drains', { ...drain, ...more })).body.id
    const [id, other] = [await made({ projectIds: [projectId] }), await made({})]
    const lines = [{ timestamp: 1, message: 'hello', source: 'edge' }]
    await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines })
    await deliver(world)
    await deliver(world, world.deps.clock.now() + 10_000)
    const list = await world.call('GET', `/v1/drains/${id}/deliveries`)
    assert.equal(list.status, 200, list.text)
    const [one] = list.body.deliveries
    assert.deepEqual([list.body.deliveries.length, one!.endpointId, one!.status], [1, id, 'pending'])
    assert.equal(one!.attempts[0]!.statusCode, 500)

    const narrow = await world.token({ projectIds: [projectId] })
    assert.equal((await narrow('GET', `/v1/drains/${id}/deliveries`)).body.deliveries.length, 1)
    assert.equal((await narrow.try('GET', `/v1/drains/${other}/deliveries`)).status, 404)
    const elsewhere = await world.call.try('POST', `/v1/drains/${other}/deliveries/${one!.id}/replay`)
    assert.equal(elsewhere.status, 404, 'a delivery of another drain')
    await register(world, to.url, ['project.created'])
    await world.call('POST', '/v10/projects', { name: 'shop' })
    const stranger = await world.user('stranger')
    assert.equal((await stranger.call.try('GET', `/v1/drains/${id}/deliveries`)).status, 404)

    to.answer((response) => response.end())
    const sent = await world.call('POST', `/v1/drains/${id}/deliveries/${one!.id}/replay`)
    assert.deepEqual([sent.status, sent.body.status], [202, 'pending'], sent.text)
    await deliver(world)
    const [done] = (await world.call('GET', `/v1/drains/${id}/deliveries?status=delivered`)).body.deliveries
    assert.equal(done!.id, one!.id)
    const again = await world.call.try('POST', `/v1/drains/${id}/deliveries/${one!.id}/replay`)
    assert.equal(again.status, 409, 'lines that arrived are not kept')
  },
  LOCAL,
)
