/** Webhooks of an account: registering them, what they receive, how it is signed. docs/spec/wire.md 3.8; docs/webhooks.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { deliver, deliveries, LOCAL, receiver, register, verify } from '../../support/servers/receiver.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines(
  'an event arrives once, with the specified body and two signatures that verify',
  async (world, t) => {
    const hook = await receiver(t)
    const { secret, id } = await register(world, hook.url)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    const projectId = await seedProject(world, 'web')
    await deliver(world)
    await deliver(world)
    assert.equal(hook.got.length, 1)
    const [got] = hook.got
    verify(got!, secret)
    assert.throws(() => verify({ ...got!, text: `${got!.text} ` }, secret))
    assert.deepEqual(Object.keys(got!.body), ['id', 'type', 'createdAt', 'region', 'payload'])
    assert.equal(got!.headers['webhook-id'], got!.body.id)
    assert.equal(got!.headers['content-type'], 'application/json')
    assert.match(got!.headers['user-agent']!, /^Berth/)
    assert.ok(Math.abs(got!.body.createdAt - Date.now()) < 60_000)
    assert.deepEqual(
      { ...got!.body, id: '', createdAt: 0 },
      {
        id: '',
        type: 'project.created',
        createdAt: 0,
        region: null,
        payload: {
          team: { id: null },
          user: { id: world.credentials.userId },
          project: { id: projectId, name: 'web' },
        },
      },
    )
    const [told] = await deliveries(world, `&endpointId=${id}`)
    assert.deepEqual(
      [told.status, told.eventId, told.type, told.attempts.length, told.attempts[0].statusCode],
      ['delivered', got!.body.id, 'project.created', 1, 200],
    )
    assert.equal(told.attempts[0].response, 'ok')
  },
  LOCAL,
)
