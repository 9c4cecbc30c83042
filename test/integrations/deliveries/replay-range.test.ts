/** Deliveries of a time that are sent again, a webhook that is tried, and the body that one delivery shows. docs/webhooks.md: Delivery log, Send a test event. */
import assert from 'node:assert/strict'
import { callWith } from '../../support/call.ts'
import { deliver, LOCAL, receiver, register, verify } from '../../support/servers/receiver.ts'
import { addRows, endDeliveries, holdWebhook, tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const CREATED = ['project.created']

onBothEngines(
  'the failed deliveries of a time are sent again, the oldest 100 at once, and next leads on',
  async (world, t) => {
    const hook = await receiver(t)
    const { id } = await register(world, hook.url, CREATED)
    const other = await register(world, hook.url, CREATED)
    for (let at = 0; at < 5; at++) {
      const names = Array.from({ length: 21 }, (_, n) => `p${at}-${n}`)
      await Promise.all(names.map((name) => world.call('POST', '/v10/projects', { name })))
    }
    await endDeliveries(world, 'failed')
    const replay = (body: object) => world.call.try('POST', `/v1/webhooks/${id}/replay`, body)
    const nothing = await replay({ since: 0, status: 'dropped' })
    assert.deepEqual([nothing.status, nothing.body], [202, { replayed: 0, next: null }], nothing.text)
    const future = await replay({ since: world.deps.clock.now() + 1000 })
    assert.equal(future.status, 400, 'it ends before it begins')
    const first = await replay({ since: 0 })
    assert.equal(first.body.replayed, 100, first.text)
    assert.ok(first.body.next)
    const second = await replay({ since: first.body.next })
    assert.deepEqual(second.body, { replayed: 5, next: null })
    const again = await replay({ since: 0 })
    assert.deepEqual(again.body, { replayed: 0, next: null }, 'what is in flight is not sent twice')
    await deliver(world)
    assert.equal(new Set(hook.got.map(({ headers }) => headers['webhook-id'])).size, 105)
    assert.equal(hook.got.length, 105, 'those to other webhooks stay')
    const left = (await world.call('GET', `/v1/webhooks/${other.id}/deliveries?status=failed&limit=100`)).body
    assert.equal(left.deliveries.length, 100)
  },
  LOCAL,
)

onBothEngines('next leads on behind 20,000 deliveries that are not to be sent again', async (world) => {
  const { id } = await register(world, 'https://hooks.example.com', CREATED)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await endDeliveries(world, 'failed')
  const first = await world.deps.db.read.selectFrom('delivery').selectAll().executeTakeFirstOrThrow()
  const behind = first.created_stamp - 20_000
  const delivered = Array.from({ length: 20_000 }, (_, at) => {
    return { ...first, id: `dlv_${at}`, status: 'delivered' as const, created_stamp: behind + at }
  })
  await addRows(world, 'delivery', delivered)
  const replay = (since: number) => world.call('POST', `/v1/webhooks/${id}/replay`, { since })
  const { body } = await replay(0)
  assert.deepEqual(body, { replayed: 0, next: first.created_stamp - 1 })
  assert.deepEqual((await replay(body.next)).body, { replayed: 1, next: null })
})

onBothEngines('a delivery that was attempted 50 times is not sent again', async (world) => {
  const { id } = await register(world, 'https://hooks.example.com', CREATED)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await endDeliveries(world, 'failed')
  const [{ id: delivery }] = (await world.call('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries
  const one = `/v1/webhooks/${id}/deliveries/${delivery}/replay` as const
  await tamper(world, 'delivery', { attempts: 50 }, { id: delivery })
  const range = await world.call('POST', `/v1/webhooks/${id}/replay`, { since: 0 })
  assert.deepEqual(range.body, { replayed: 0, next: null })
  const refused = await world.call.try('POST', one)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], refused.text)
  await tamper(world, 'delivery', { attempts: 49 }, { id: delivery })
  assert.equal((await world.call('POST', one)).body.status, 'pending')
})

onBothEngines('a time has a beginning and an end', async (world, t) => {
  const { id } = await register(world, 'https://hooks.example.com', CREATED)
  const made: number[] = []
  for (const name of ['one', 'two', 'three']) {
    await world.call('POST', '/v10/projects', { name })
    made.push(world.deps.clock.now())
    world.deps.clock.set(world.deps.clock.now() + 60_000)
  }
  t.after(() => world.deps.clock.set(undefined))
  await endDeliveries(world, 'failed')
  const body = { since: made[0]! + 1000, until: made[2]! - 1000 }
  assert.deepEqual((await world.call('POST', `/v1/webhooks/${id}/replay`, body)).body, { replayed: 1, next: null })
  const [pending] = (await world.call('GET', `/v1/webhooks/${id}/deliveries?status=pending`)).body.deliveries
  assert.ok(pending.createdAt > made[0]! && pending.createdAt < made[2]!)
})

onBothEngines(
  'a webhook is tried at once, signed, also when it is disabled, and nothing of it is kept',
  async (world, t) => {
    const hook = await receiver(t)
    const { id, secret } = await register(world, hook.url, CREATED)
    hook.answer((response) => response.writeHead(418).end('teapot'))
    const tried = await world.call('POST', `/v1/webhooks/${id}/test`)
    assert.deepEqual([tried.status, tried.body.arrived, tried.body.statusCode], [200, false, 418], tried.text)
    assert.equal(tried.body.response, null, 'no user can read a service of a private network through Berth')
    verify(hook.got[0]!, secret)
    assert.equal(hook.got[0]!.text, tried.body.request)
    assert.equal(hook.got[0]!.body.payload.user.id, world.credentials.userId)
    assert.deepEqual((await world.call('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries, [])
    assert.equal((await world.call('GET', `/v1/webhooks/${id}`)).body.failingSince, undefined)
    await holdWebhook(world, id)
    const held = await world.call.try('POST', `/v1/webhooks/${id}/test`)
    assert.deepEqual([held.status, hook.got.length], [409, 1])
    const replayed = await world.call.try('POST', `/v1/webhooks/${id}/replay`, { since: 0 })
    assert.equal(replayed.status, 409)
  },
  LOCAL,
)

onBothEngines('no test event goes to an address of a private network', async (world) => {
  const { id } = await register(world, 'https://hooks.example.com', CREATED)
  const tried = await world.call.try('POST', `/v1/webhooks/${id}/test`)
  assert.deepEqual([tried.status, tried.body.arrived, tried.body.statusCode], [200, false, null])
  assert.ok(tried.body.error)
})

/** Who may: a name, a token, and whether the webhook of the team and the one of the app are theirs to try. */
async function people(world: World) {
  const { teamId } = world.credentials
  const ofTeam = (call: World['call']) => callWith(call, `teamId=${teamId}`)
  const join = async (name: string, role: string) => {
    const person = await world.user(name)
    await world.join(person, role)
    return ofTeam(person.call)
  }
  const narrow = await world.token({ teamId, scopes: ['read-write:integration-configuration'] })
  return {
    owner: ofTeam(world.call),
    member: await join('member', 'MEMBER'),
    viewer: await join('viewer', 'VIEWER'),
    narrow: ofTeam(narrow),
  }
}

onBothEngines(
  'a user who may change a webhook tries it and sees what it was sent, and no other user does',
  async (world, t) => {
    const hook = await receiver(t)
    const caller = await people(world)
    const app = await seedIntegration(world, { webhookUrl: hook.url, scopes: ['read-write:project'] })
    await seedInstallation(world, { app })
    const own = (await caller.owner('POST', '/v1/webhooks', { url: hook.url, events: CREATED })).body.id
    const ofApp = (await caller.owner('GET', `/v1/integrations/apps/${app.id}`)).body.webhookId
    await caller.owner('POST', '/v10/projects', { name: 'web' })
    await deliver(world)
    const expected = {
      owner: [200, 200, true, true],
      member: [200, 403, true, false],
      viewer: [403, 403, false, false],
      narrow: [200, 404, false, undefined],
    }
    for (const [name, call] of Object.entries(caller)) {
      const seen: unknown[] = []
      for (const id of [own, ofApp]) seen.push((await call.try('POST', `/v1/webhooks/${id}/test`)).status)
      for (const id of [own, ofApp]) {
        const [{ id: delivery }] = (await caller.owner('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries
        const shown = await call.try('GET', `/v1/webhooks/${id}/deliveries/${delivery}`)
        seen.push(shown.status === 200 ? 'request' in shown.body : undefined)
      }
      assert.deepEqual(seen, expected[name as keyof typeof expected], name)
      const replay = await call.try('POST', `/v1/webhooks/${ofApp}/replay`, { since: 0, until: 1 })
      assert.equal(replay.status, name === 'owner' ? 202 : expected[name as 'member'][1], name)
    }
  },
  LOCAL,
)

onBothEngines('a delivery that was not attempted shows no body', async (world) => {
  const { id } = await register(world, 'https://hooks.example.com', CREATED)
  await world.call('POST', '/v10/projects', { name: 'web' })
  const [{ id: delivery }] = (await world.call('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries
  assert.equal((await world.call('GET', `/v1/webhooks/${id}/deliveries/${delivery}`)).body.request, undefined)
})

onBothEngines(
  'an installation sees no body of what it was sent: its scopes may be others by now',
  async (world, t) => {
    const hook = await receiver(t)
    const scopes = ['read-write:project', 'read-write:integration-configuration']
    const { call } = await seedInstallation(world, { scopes })
    const own = callWith(call, `teamId=${world.credentials.teamId}`)
    const { id } = (await own('POST', '/v1/webhooks', { url: hook.url, events: CREATED })).body
    await own('POST', '/v10/projects', { name: 'web' })
    await deliver(world)
    const [{ id: delivery }] = (await own('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries
    const shown = await own('GET', `/v1/webhooks/${id}/deliveries/${delivery}`)
    assert.deepEqual([shown.status, shown.body.attempts.length, 'request' in shown.body], [200, 1, false])
    const byOwner = callWith(world.call, `teamId=${world.credentials.teamId}`)
    assert.ok('request' in (await byOwner('GET', `/v1/webhooks/${id}/deliveries/${delivery}`)).body)
  },
  LOCAL,
)
