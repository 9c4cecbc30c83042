/** Webhooks and log drains whose maker has no access any more: held, transferred or removed. docs/webhooks.md. */

import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { receiver } from '../../support/servers/receiver.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'
import { DAY, leave, setRole } from '../../support/worlds/team-installation.ts'

const PRIVATE = { BERTH_ALLOW_PRIVATE_WEBHOOKS: '1' }

const letters = readQueuedMail
const deliver = (world: World) => world.operator('POST', '/operator/v1/timers/deliveries/run', {})

/** A member with a webhook and a log drain on the team, which both go to `url`. */
async function openEndpoints(world: World, url: string) {
  const { teamId } = world.credentials
  const on = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
  const eve = await world.user('eve')
  await setRole(world, eve.id, 'MEMBER')
  const hook = await eve.call('POST', on('/v1/webhooks'), { url, events: ['project.created'] })
  const drain = await eve.call('POST', on('/v1/log-drains'), { url, deliveryFormat: 'json', sources: ['static'] })
  assert.deepEqual([hook.status, drain.status], [200, 200])
  const make = async (name: string) => (await world.call('POST', on('/v10/projects'), { name })).body.id as string
  const log = (projectId: string, message: string) =>
    world.operator.try('POST', `/operator/v1/projects/${projectId}/logs`, {
      lines: [{ timestamp: 1, message, source: 'static' }],
    })
  return { eve, on, make, log, hookId: hook.body.id as string, drainId: drain.body.id as string }
}

onBothEngines(
  'events for endpoints of a user who left wait, and are sent in order after an OWNER takes ownership of them',
  async (world, t) => {
    const target = await receiver(t)
    const { eve, on, make, log, hookId, drainId } = await openEndpoints(world, target.url)
    const first = await make('before')
    await log(first, 'before')
    await deliver(world)
    await target.until(2)
    // This event happened before the user left, and was not sent yet.
    await make('pending')
    await leave(world, eve.id)
    for (const name of ['held-1', 'held-2']) await make(name)
    assert.equal((await log(first, 'after')).body.drains, 0, 'lines are not kept')
    await deliver(world)
    assert.equal(target.got.length, 2, 'nothing went out')

    const shown = (await world.call('GET', on(`/v1/webhooks/${hookId}`))).body
    assert.equal(shown.heldReason, 'original-owner-left-the-team')
    assert.ok(shown.heldAt > 0)
    const [drain] = (await world.call('GET', on('/v1/log-drains'))).body
    assert.deepEqual([drain.status, drain.heldReason], ['disabled', 'original-owner-left-the-team'])
    const [letter, ...more] = await letters(world)
    assert.equal(more.length, 0, 'one letter names all endpoints')
    for (const said of [hookId, drainId, 'eve', '30 days', '/integrations/installed?teamId='])
      assert.ok(letter!.body_text.includes(said), said)

    const member = await world.user('mel')
    await setRole(world, member.id, 'MEMBER')
    const path = (kind: 'webhooks' | 'log-drains', id: string) => on(`/v1/${kind}/${id}/transfer-ownership`)
    const patched = await member.call('PATCH', on(`/v1/webhooks/${hookId}`), { enabled: true })
    assert.ok(patched.body.heldAt > 0, 'enabling it does not take ownership of it')
    for (const [kind, id] of [
      ['webhooks', hookId],
      ['log-drains', drainId],
    ] as const) {
      assert.equal((await member.call.try('POST', path(kind, id))).status, 403, 'an OWNER does')
      const taken = await world.call('POST', path(kind, id))
      assert.deepEqual([taken.status, taken.body.heldAt, taken.body.heldReason], [200, undefined, undefined])
    }
    await deliver(world)
    await target.until(5)
    assert.deepEqual(
      target.got.slice(2).map(({ body }) => body.payload.project.name),
      ['pending', 'held-1', 'held-2'],
    )
    assert.equal((await log(first, 'again')).body.drains, 1)
    // They belong to the owner now, so the first maker's access no longer matters.
    await setRole(world, eve.id, 'VIEWER')
    await leave(world, eve.id)
    assert.equal((await world.call('GET', on(`/v1/webhooks/${hookId}`))).body.heldAt, undefined)
  },
  PRIVATE,
)

onBothEngines(
  'when a role falls below MEMBER, the endpoints of that user on that team are held, and no others',
  async (world) => {
    const { eve, on, hookId } = await openEndpoints(world, 'https://hooks.example.com/')
    const body = { url: 'https://hooks.example.com/', events: ['project.created'] }
    const own = (await eve.call('POST', '/v1/webhooks', body)).body.id
    const others = (await world.call('POST', on('/v1/webhooks'), body)).body.id
    await setRole(world, eve.id, 'OWNER')
    await setRole(world, eve.id, 'MEMBER')
    assert.equal((await world.call('GET', on(`/v1/webhooks/${hookId}`))).body.heldAt, undefined)
    for (const role of ['DEVELOPER', 'VIEWER']) await setRole(world, eve.id, role)
    const { heldReason, heldAt } = (await world.call('GET', on(`/v1/webhooks/${hookId}`))).body
    assert.equal(heldReason, 'original-owner-role-downgraded')
    await leave(world, eve.id)
    const later = (await world.call('GET', on(`/v1/webhooks/${hookId}`))).body
    assert.deepEqual([later.heldReason, later.heldAt], ['original-owner-role-downgraded', heldAt], 'its 30 days run on')
    assert.equal((await eve.call('GET', `/v1/webhooks/${own}`)).body.heldAt, undefined)
    assert.equal((await world.call('GET', on(`/v1/webhooks/${others}`))).body.heldAt, undefined)
    assert.equal((await letters(world)).length, 1)
  },
)

onBothEngines('a user who gives a webhook another URL is its maker from then on', async (world) => {
  const { eve, on } = await openEndpoints(world, 'https://hooks.example.com/')
  const made = await world.call('POST', on('/v1/webhooks'), {
    url: 'https://a.example.com/',
    events: ['project.created'],
  })
  const path = on(`/v1/webhooks/${made.body.id}`)
  assert.equal((await eve.call('PATCH', path, { events: ['project.removed'] })).status, 200)
  await leave(world, eve.id)
  assert.equal((await world.call('GET', path)).body.heldAt, undefined, 'other events do not change the maker')
  await setRole(world, eve.id, 'MEMBER')
  await eve.call('PATCH', path, { url: 'https://eve.example.com/' })
  await leave(world, eve.id)
  assert.ok((await world.call('GET', path)).body.heldAt > 0)
})

onBothEngines('a user who gives an integration another URL is named when their access ends', async (world) => {
  const { id } = await seedIntegration(world, { webhookUrl: 'https://app.example.com/' })
  const eve = await world.user('eve')
  const path = withQuery(`/v1/integrations/apps/${id}`, `teamId=${world.credentials.teamId}`)
  const lettersAfter = async (webhookUrl: string) => {
    await setRole(world, eve.id, 'OWNER')
    assert.equal((await eve.call('PATCH', path, { webhookUrl })).status, 200)
    await leave(world, eve.id)
    return (await letters(world)).filter(({ subject }) => /need an owner$/.test(subject))
  }
  assert.deepEqual(await lettersAfter('https://app.example.com/'), [], 'the same URL does not change the maker')
  const texts = (await lettersAfter('https://eve.example.com/')).map(({ body_text }) => body_text)
  assert.equal(texts.length, 1)
  assert.ok(texts[0]!.includes(`integration ${id}, whose webhook goes to eve.example.com`))
})

onBothEngines(
  'a held webhook gets no new URL, events or projects before an OWNER takes ownership of it, and a suspended user finds it as it was',
  async (world) => {
    const { eve, on, hookId } = await openEndpoints(world, 'https://hooks.example.com/')
    const member = await world.user('mel')
    await setRole(world, member.id, 'MEMBER')
    const path = on(`/v1/webhooks/${hookId}`)
    const suspend = (suspended: boolean) => world.operator('PATCH', `/operator/v1/users/${eve.id}`, { suspended })
    assert.equal((await suspend(true)).status, 200)
    const before = (await world.call('GET', path)).body
    assert.equal(before.heldReason, 'disabled-by-admin')
    const { body: project } = await world.call('POST', on('/v10/projects'), { name: 'web' })
    const changes = [{ url: 'https://mel.example.com/' }, { events: ['project.removed'] }, { projectIds: [project.id] }]
    for (const { call } of [member, world])
      for (const change of changes) {
        const refused = await call.try('PATCH', path, change)
        assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], JSON.stringify(change))
        assert.ok(refused.body.error.message.includes(`POST /v1/webhooks/${hookId}/transfer-ownership`))
      }
    assert.deepEqual((await world.call('GET', path)).body, before, 'a refused request changes nothing')
    // What it has is nothing new: clients that send the whole webhook again change nothing.
    const kept = await member.call('PATCH', path, { url: before.url, events: before.events })
    assert.deepEqual([kept.status, kept.body.heldAt], [200, before.heldAt])
    assert.equal((await suspend(false)).status, 200)
    assert.deepEqual(
      [(await world.call('GET', path)).body].map(({ url, heldAt }) => [url, heldAt]),
      [[before.url, undefined]],
    )
    // After an OWNER has taken ownership of it, it can be changed like any other webhook.
    await suspend(true)
    assert.equal((await world.call('POST', on(`/v1/webhooks/${hookId}/transfer-ownership`))).status, 200)
    assert.equal((await member.call('PATCH', path, { url: 'https://mel.example.com/' })).status, 200)
  },
)

onBothEngines(
  'endpoints of which no user takes ownership in 30 days are removed, and their events are dropped',
  async (world) => {
    const { eve, on, make, hookId } = await openEndpoints(world, 'https://hooks.example.com/')
    await leave(world, eve.id)
    for (let at = 0; at < 5; at++) await make(`held-${at}`)
    const sweep = (now: number) => world.operator('POST', '/operator/v1/timers/held-endpoints/run', { now })
    const since = (await world.call('GET', on(`/v1/webhooks/${hookId}`))).body.heldAt
    assert.equal((await sweep(since + 30 * DAY - 1)).body.swept, 0)
    assert.equal((await sweep(since + 30 * DAY)).body.swept, 2)
    assert.equal((await world.call.try('GET', on(`/v1/webhooks/${hookId}`))).status, 404)
    assert.deepEqual((await world.call('GET', on('/v1/log-drains'))).body, [])
    await deliver(world)
    const rows = await world.deps.db.read.selectFrom('delivery').select(['status', 'held_at', 'due_at']).execute()
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      Array(5).fill({ status: 'dropped', held_at: null, due_at: null }),
    )
  },
)

onBothEngines(
  'an OWNER takes held endpoints over on the page of installations; others see them without a button',
  async (world) => {
    const { eve, on, hookId } = await openEndpoints(world, 'https://hooks.example.com/')
    await leave(world, eve.id)
    const { teamId } = world.credentials
    const path = `/integrations/installed?teamId=${teamId}` as const
    const viewer = await world.user('vic')
    await setRole(world, viewer.id, 'VIEWER')
    const [asOwner, asViewer] = [
      await openSignedInClient(world, world.credentials.userId),
      await openSignedInClient(world, viewer.id, 'vic'),
    ]
    const left = (await asOwner.get(path)).text
    assert.match(left, new RegExp(`action="/endpoints/${teamId}/${hookId}/take-over"`))
    assert.match(left, /It is removed after \d+ \w+ \d{4}\./)
    const seen = (await asViewer.get(path)).text
    assert.ok(seen.includes(hookId) && !seen.includes('take-over'))
    const refused = await asViewer.post(`/endpoints/${teamId}/${hookId}/take-over`, {})
    assert.equal(refused.status, 403)
    assert.ok((await world.call('GET', on(`/v1/webhooks/${hookId}`))).body.heldAt > 0)
    assert.equal((await asOwner.post(`/endpoints/${teamId}/${hookId}/take-over`, {})).status, 303)
    assert.equal((await world.call('GET', on(`/v1/webhooks/${hookId}`))).body.heldAt, undefined)
    assert.equal((await asOwner.post(`/endpoints/${teamId}/${hookId}/take-over`, {})).status, 404)
  },
)

onBothEngines('the page promises no removal of what belongs to a suspended user', async (world) => {
  const { eve, hookId } = await openEndpoints(world, 'https://hooks.example.com/')
  assert.equal((await world.operator('PATCH', `/operator/v1/users/${eve.id}`, { suspended: true })).status, 200)
  const client = await openSignedInClient(world, world.credentials.userId)
  const { text } = await client.get(`/integrations/installed?teamId=${world.credentials.teamId}`)
  assert.ok(text.includes(hookId), text)
  assert.match(text, /It is kept, and goes on when the suspension ends\./)
  assert.doesNotMatch(text, /It is removed after/)
})
