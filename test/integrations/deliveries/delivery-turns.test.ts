/** Deliveries that wait for one account delay no other account, and their number is limited. docs/webhooks.md, docs/limits.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allocateSlots } from '../../../src/integrations/deliveries/allocation.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, deliveries, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall, seedIntegration } from '../../support/worlds/integration-world.ts'
import { count, pile } from './delivery-rows.ts'

const MAX_PENDING = 10_000
const relieve = (world: World) => world.operator('POST', '/operator/v1/timers/delivery-overflow/run', {})
onBothEngines(
  'when too many deliveries wait for an account, its fullest endpoint is disabled with a reason and a letter, and nothing else',
  async (world) => {
    await seedProject(world, 'first')
    const url = 'http://127.0.0.1:9/hook'
    const full = await register(world, url, ['project.created'])
    const other = await register(world, url, ['project.created'])
    const { account_id: accountId } = await world.deps.db.read
      .selectFrom('webhook')
      .select('account_id')
      .where('id', '=', full.id)
      .executeTakeFirstOrThrow()
    await pile(world, 100, { accountId, endpointIds: [other.id] })
    await pile(world, MAX_PENDING - 100, { accountId, endpointIds: [full.id] })
    assert.equal((await relieve(world)).status, 200)
    assert.equal((await world.call('GET', `/v1/webhooks/${full.id}`)).body.disabledAt, undefined)
    assert.equal(await count(world, full.id, 'dropped'), 0)

    await seedProject(world, 'one-more')
    assert.equal((await relieve(world)).status, 200)
    const disabled = (await world.call('GET', `/v1/webhooks/${full.id}`)).body
    assert.equal(disabled.disabledReason, 'overflow')
    assert.equal((await world.call('GET', `/v1/webhooks/${other.id}`)).body.disabledAt, undefined)
    assert.equal(await count(world, other.id, 'pending'), 101)
    const letters = await world.deps.db.read.selectFrom('mail').select('subject').execute()
    assert.deepEqual(
      letters.map(({ subject }) => subject),
      ['A webhook is disabled: 127.0.0.1:9'],
    )
    // What waited for it is listed as dropped, and can be sent again after the endpoint is enabled.
    assert.ok((await count(world, full.id, 'dropped')) >= 1000)
    await relieve(world)
    assert.equal((await world.deps.db.read.selectFrom('mail').select('id').execute()).length, 1)
    await world.call('PATCH', `/v1/webhooks/${full.id}`, { enabled: true })
    const [dropped] = await deliveries(world, `&endpointId=${full.id}&status=dropped`)
    const again = await world.operator('POST', `/operator/v1/webhook-deliveries/${dropped.id}/replay`)
    assert.deepEqual([again.status, again.body.status], [202, 'pending'])
  },
  LOCAL,
)

onBothEngines(
  'when too many deliveries of an account wait for the webhook of an integration, some of that account are dropped, and the webhook goes on',
  async (world) => {
    await seedProject(world, 'first')
    const webhookUrl = 'http://127.0.0.1:9/app'
    const app = await seedIntegration(world, { webhookUrl })
    await consentAndInstall(world, app)
    const { id } = await world.deps.db.read
      .selectFrom('webhook')
      .select('id')
      .where('integration_id', '=', app.id)
      .executeTakeFirstOrThrow()
    const accountId = world.credentials.teamId
    await pile(world, 50, { accountId: 'team_other', endpointIds: [id] })
    await pile(world, MAX_PENDING + 30, { accountId, endpointIds: [id] })
    for (let at = 0; at < 2; at++) assert.equal((await relieve(world)).status, 200)
    assert.equal(await count(world, id, 'dropped'), 30)
    const oldest = world.deps.db.read.selectFrom('delivery').select('status').where('account_id', '=', accountId)
    const first = await oldest.orderBy('created_stamp').limit(30).execute()
    assert.ok(first.every(({ status }) => status === 'dropped'))
    const webhook = world.deps.db.read.selectFrom('webhook').select('disabled_at').where('id', '=', id)
    assert.equal((await webhook.executeTakeFirstOrThrow()).disabled_at, null)
    const letters = await world.deps.db.read.selectFrom('mail').select('topic').execute()
    assert.deepEqual(
      letters.map(({ topic }) => topic),
      [`overflow ${id}`],
    )
  },
  LOCAL,
)

onBothEngines(
  'accounts take turns at the webhook of an integration that they share',
  async (world, t) => {
    const hook = await receiver(t)
    hook.answer((response) => void setTimeout(() => response.end(), 5))
    await seedProject(world, 'first')
    const app = await seedIntegration(world, { webhookUrl: hook.url })
    await consentAndInstall(world, app)
    const rival = await world.user('rival')
    await consentAndInstall(world, app, { userId: rival.id, teamId: undefined })
    const { id } = await world.deps.db.read
      .selectFrom('webhook')
      .select('id')
      .where('integration_id', '=', app.id)
      .executeTakeFirstOrThrow()
    await pile(world, 300, { accountId: world.credentials.teamId, endpointIds: [id], dueAt: 1 })
    assert.equal((await rival.call('POST', '/v10/projects', { name: 'late' })).status, 200)
    await deliver(world)
    const at = hook.got.findIndex(({ body }) => body.payload.project.name === 'late')
    assert.ok(at >= 0 && at < 100, `the other account came ${at + 1}th of ${hook.got.length}`)
  },
  LOCAL,
)

onBothEngines(
  'a delivery that is due is found behind thousands of queues in which nothing is due',
  async (world, t) => {
    const hook = await receiver(t)
    await register(world, hook.url, ['project.created'])
    const rows = Array.from({ length: 4100 }, (_, at) => ({
      ...{ id: `dlv_${at}`, account_id: `acc_${at}`, endpoint_id: `hook_${at}`, type: 'project.created', attempts: 1 },
      ...{ status: 'pending' as const, due_at: Date.now() + 3_600_000, created_stamp: world.deps.clock.stamp() },
    }))
    await addRows(world, 'delivery', rows)
    await seedProject(world, 'late')
    await deliver(world)
    assert.equal(hook.got.length, 1)
  },
  LOCAL,
)

test('however many accounts have receivers that hang or fail, the next account has room, and each account has a fair share', () => {
  const queuesOf = (account: number, failing_since: number | null) =>
    Array.from({ length: 40 }, (_, at) => ({
      ...{ account_id: `a${account}`, endpoint_id: `a${account}e${at}`, failing_since },
    }))
  for (const failingSince of [null, 1]) {
    for (const accounts of [1, 8, 50]) {
      const due = Array.from({ length: accounts }, (_, account) => queuesOf(account, failingSince)).flat()
      const running = [...allocateSlots(due, [])].flatMap(([queue, count]) =>
        Array.from({ length: count }, () => ({
          ...{ accountId: queue.account_id, endpointId: queue.endpoint_id, failing: failingSince !== null },
        })),
      )
      const each = [...Map.groupBy(running, (one) => one.accountId).values()].map((own) => own.length)
      assert.equal(each.length, accounts)
      assert.ok(Math.max(...each) - Math.min(...each) <= 1, `${each}`)
      assert.ok(Math.max(...each) <= 48 && running.length <= (failingSince === null ? 256 : 128), `${each}`)
      assert.ok(accounts !== 8 || running.length >= 64, `${running.length} of 8 accounts`)
      // While those hang they get no more places, and another account gets one.
      const next = allocateSlots([...due, ...queuesOf(99, failingSince)], running)
      assert.ok((next.get([...next.keys()].find((one) => one.account_id === 'a99')!) ?? 0) > 0, `of ${accounts}`)
    }
  }
})
