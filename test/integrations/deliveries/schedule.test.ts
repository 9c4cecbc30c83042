/** When a delivery is attempted again, and when an endpoint is disabled. docs/spec/decisions.md: Webhooks, mail, drains; docs/webhooks.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { deliver, deliveries, LOCAL, receiver, register, verify } from '../../support/servers/receiver.ts'
import { endDeliveries } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WAITS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]

const mails = readQueuedMail

onBothEngines(
  'a delivery that fails is attempted ten times over 75 h 35 min with one webhook-id, then given up',
  async (world, t) => {
    const hook = await receiver(t)
    hook.answer((response) => response.writeHead(503).end())
    const { secret } = await register(world, hook.url)
    await seedProject(world, 'web')
    await deliver(world)
    let [told] = await deliveries(world)
    for (const [at, wait] of WAITS.entries()) {
      assert.equal(told.status, 'pending')
      const last = told.attempts.at(-1)!
      const waited = told.dueAt - last.at
      assert.ok(waited >= wait && waited <= wait * 1.02, `attempt ${at + 2} after ${waited} ms`)
      await deliver(world, told.dueAt - 1)
      assert.equal(hook.got.length, at + 1, 'not a millisecond early')
      await deliver(world, told.dueAt)
      ;[told] = await deliveries(world)
    }
    assert.deepEqual([told.status, told.dueAt, told.attempts.length], ['failed', null, 10])
    assert.ok(told.attempts[9]!.at - told.attempts[0].at >= 75 * HOUR + 35 * MINUTE)
    await deliver(world, told.attempts[9]!.at + DAY)
    assert.equal(hook.got.length, 10)
    assert.equal(new Set(hook.got.map((one) => one.headers['webhook-id'])).size, 1)
    assert.equal(new Set(hook.got.map((one) => one.text)).size, 1)
    for (const one of hook.got) verify(one, secret)
    assert.deepEqual(await mails(world), [])
  },
  LOCAL,
)

onBothEngines(
  'no other attempt begins while one may still be answered',
  async (world, t) => {
    const hook = await receiver(t)
    let release = () => {}
    hook.answer((response) => {
      release = () => void response.end()
    })
    await register(world, hook.url)
    await seedProject(world, 'web')
    const now = world.deps.clock.now()
    const attempt = deliver(world, now)
    await hook.until(1)
    // This is longer than an attempt may take.
    await deliver(world, now + 16 * SECOND)
    assert.equal(hook.got.length, 1)
    release()
    await attempt
    const [told] = await deliveries(world)
    assert.deepEqual([told.status, told.attempts.length], ['delivered', 1])
  },
  LOCAL,
)

onBothEngines(
  'Retry-After delays an attempt, by a day at most, and never makes it sooner',
  async (world, t) => {
    const hook = await receiver(t)
    const { id } = await register(world, hook.url, ['project.created'])
    const waits = async (retryAfter: string) => {
      hook.answer((response) => response.writeHead(429, { 'retry-after': retryAfter }).end())
      await seedProject(world, `p${hook.got.length}`)
      // Each event fails for the first time; those that failed before are not due yet.
      await deliver(world)
      const [told] = await deliveries(world, `&endpointId=${id}`)
      return told.dueAt - told.attempts[0].at
    }
    assert.equal(await waits('600'), 600_000)
    assert.equal(await waits('999999'), DAY)
    for (const text of ['1', '0', '-5', 'soon', '99999999999999']) {
      const waited = await waits(text)
      assert.ok(waited >= 5000 && waited <= 5100, `${text}: ${waited}`)
    }
    const date = new Date(Date.now() + HOUR).toUTCString()
    assert.ok(Math.abs((await waits(date)) - HOUR) < 10_000)
  },
  LOCAL,
)

onBothEngines(
  '410 disables the endpoint at once, its owner gets one letter, and PATCH enables it again',
  async (world, t) => {
    const hook = await receiver(t)
    const { id } = await register(world, hook.url)
    hook.answer((response) => response.writeHead(410).end())
    await Promise.all(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => seedProject(world, name)))
    await deliver(world)
    const shown = (await world.call('GET', `/v1/webhooks/${id}`)).body
    assert.equal(shown.disabledReason, 'gone')
    assert.ok(shown.disabledAt > 0)
    const [mail, ...others] = await mails(world)
    assert.deepEqual(others, [])
    assert.equal(mail!.recipient, 'admin@berth.localhost')
    assert.match(mail!.body_text, /responded 410/)
    assert.match(mail!.body_text, new RegExp(id))
    const seen = hook.got.length
    await deliver(world, Date.now() + DAY)
    assert.equal(hook.got.length, seen, 'nothing more is sent there')
    await seedProject(world, 'meanwhile')
    assert.equal((await deliveries(world, '&status=pending')).length, 0)
    const failed = (await deliveries(world, '&status=dropped'))[0]
    assert.equal((await world.operator.try('POST', `/operator/v1/webhook-deliveries/${failed.id}/replay`)).status, 409)

    hook.answer((response) => response.end())
    const enabled = await world.call('PATCH', `/v1/webhooks/${id}`, { enabled: true })
    assert.equal(enabled.status, 200)
    assert.equal('disabledAt' in enabled.body, false)
    await seedProject(world, 'again')
    await deliver(world)
    assert.equal(hook.got.length, seen + 1)
    assert.equal(hook.got.at(-1)!.body.payload.project.name, 'again')
  },
  LOCAL,
)

onBothEngines(
  'an endpoint that only fails for five days is disabled; one success in between starts the five days again',
  async (world, t) => {
    const hook = await receiver(t)
    const { id } = await register(world, hook.url, ['project.created'])
    const start = Date.now()
    let up = false
    hook.answer((response) => response.writeHead(up ? 200 : 500).end())
    const tryAt = async (moment: number, name: string) => {
      await seedProject(world, name)
      // Only the newest delivery matters here, so those that failed before are moved away.
      const [newest] = await deliveries(world, `&endpointId=${id}`)
      await endDeliveries(world, 'failed', newest.id)
      await deliver(world, moment)
      return (await world.call('GET', `/v1/webhooks/${id}`)).body
    }
    assert.equal((await tryAt(start + MINUTE, 'a')).failingSince, start + MINUTE)
    assert.equal((await tryAt(start + 4 * DAY, 'b')).failingSince, start + MINUTE)
    up = true
    assert.equal('failingSince' in (await tryAt(start + 4 * DAY + HOUR, 'c')), false)
    up = false
    assert.equal((await tryAt(start + 5 * DAY, 'd')).failingSince, start + 5 * DAY)
    assert.equal('disabledAt' in (await tryAt(start + 10 * DAY - 1, 'e')), false)
    assert.deepEqual(await mails(world), [])
    // After days without events the first attempt decides nothing; the second attempt does.
    assert.equal('disabledAt' in (await tryAt(start + 10 * DAY, 'f')), false)
    await deliver(world, start + 10 * DAY + MINUTE)
    const disabled = (await world.call('GET', `/v1/webhooks/${id}`)).body
    assert.deepEqual([disabled.disabledReason, disabled.disabledAt], ['failing', start + 10 * DAY + MINUTE])
    assert.match((await mails(world))[0]!.body_text, /five days/)
  },
  LOCAL,
)

onBothEngines(
  'a replay sends the same webhook-id with new signatures; deliveries and their events are kept for 30 days',
  async (world, t) => {
    const hook = await receiver(t)
    const { secret } = await register(world, hook.url, ['project.created'])
    await seedProject(world, 'web')
    const [{ id }] = await deliveries(world)
    const replay = `/operator/v1/webhook-deliveries/${id}/replay`
    assert.equal((await world.operator.try('POST', replay)).status, 409, 'it is still to be sent')
    await deliver(world)
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.operator.try('POST', replay)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [202, ...Array.from({ length: 9 }, () => 409)])
    await deliver(world)
    assert.equal(hook.got.length, 2)
    assert.equal(hook.got[0]!.headers['webhook-id'], hook.got[1]!.headers['webhook-id'])
    verify(hook.got[1]!, secret)
    const [told] = await deliveries(world)
    assert.deepEqual([told.status, told.attempts.length], ['delivered', 2])
    assert.equal((await world.operator.try('POST', '/operator/v1/webhook-deliveries/dlv_none/replay')).status, 404)

    const sweep = (name: string, now: number) => world.operator('POST', `/operator/v1/timers/${name}/run`, { now })
    const count = async () => [
      (await world.deps.db.read.selectFrom('event').select('id').execute()).length,
      (await world.deps.db.read.selectFrom('delivery').select('id').execute()).length,
      (await world.deps.db.read.selectFrom('delivery_attempt').select('at').execute()).length,
    ]
    // A delivery that is still to be sent keeps its event, however old it is.
    hook.answer((response) => response.writeHead(500).end())
    await seedProject(world, 'other')
    await deliver(world)
    assert.deepEqual(await count(), [2, 2, 3])
    const later = Date.now() + 31 * DAY
    for (const name of ['old-events', 'old-deliveries', 'old-events']) await sweep(name, later)
    assert.deepEqual(await count(), [1, 1, 1])
    hook.answer((response) => response.end())
    await deliver(world, later)
    assert.equal(hook.got.at(-1)!.body.payload.project.name, 'other')
    for (const name of ['old-deliveries', 'old-events']) await sweep(name, later)
    assert.deepEqual(await count(), [0, 0, 0])
  },
  LOCAL,
)

onBothEngines(
  'an answer from a URL that was replaced meanwhile does not count for the new URL',
  async (world, t) => {
    const old = await receiver(t)
    const next = await receiver(t)
    const { id } = await register(world, old.url)
    let answer = () => {}
    old.answer((response) => {
      answer = () => response.writeHead(410).end()
    })
    await seedProject(world, 'one')
    const delivering = deliver(world)
    await old.until(1)
    assert.equal((await world.call('PATCH', `/v1/webhooks/${id}`, { url: next.url })).status, 200)
    answer()
    await delivering
    assert.equal('disabledAt' in (await world.call('GET', `/v1/webhooks/${id}`)).body, false)
    await seedProject(world, 'two')
    await deliver(world, Date.now() + 60_000)
    assert.deepEqual(next.got.map(({ body }) => body.payload.project.name).sort(), ['one', 'two'])
  },
  LOCAL,
)

onBothEngines(
  'a delivery that waits for its next attempt is sent at once on request',
  async (world, t) => {
    const hook = await receiver(t)
    await register(world, hook.url, ['project.created'])
    await seedProject(world, 'web')
    hook.answer((response) => response.writeHead(500).end())
    await deliver(world)
    await deliver(world, Date.now() + 10_000)
    assert.equal(hook.got.length, 2)
    const [{ id, dueAt }] = await deliveries(world)
    assert.ok(dueAt > Date.now() + 60_000)
    hook.answer((response) => response.end())
    const asked = await world.operator('POST', `/operator/v1/webhook-deliveries/${id}/replay`)
    assert.deepEqual([asked.status, asked.body.status], [202, 'pending'])
    await deliver(world)
    const [told] = await deliveries(world)
    assert.deepEqual([hook.got.length, told.status, told.attempts.length], [3, 'delivered', 3])
  },
  LOCAL,
)
