/** Receivers that misbehave: each has its documented outcome, and no other delivery waits for them. docs/webhooks.md; docs/spec/reliability.md F18. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, deliveries, LOCAL, type Receiver, receiver, register } from '../../support/servers/receiver.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Registers the receiver, makes one event and gives the outcome of its first attempt. */
async function attempted(world: World, hook: Receiver, name: string) {
  const { id } = await register(world, hook.url, ['project.created'])
  await seedProject(world, name)
  await deliver(world)
  const [told] = await deliveries(world, `&endpointId=${id}`)
  await world.call('DELETE', `/v1/webhooks/${id}`)
  return { ...told, ...told.attempts[0] }
}

onBothEngines(
  'each kind of bad answer has its documented outcome, and its first KiB is kept',
  async (world, t) => {
    const hook = await receiver(t)
    const elsewhere = await receiver(t)

    hook.answer((response) => response.writeHead(500).end(`no\0${'x'.repeat(5000)}`))
    const failed = await attempted(world, hook, 'a')
    assert.deepEqual([failed.status, failed.statusCode, failed.error], ['pending', 500, null])
    assert.equal(failed.response, `no\uFFFD${'x'.repeat(1021)}`)
    assert.ok(failed.dueAt - failed.at >= 5000 && failed.dueAt - failed.at <= 5100, String(failed.dueAt - failed.at))

    for (const status of [301, 302, 303, 307, 308]) {
      hook.answer((response) => response.writeHead(status, { location: elsewhere.url }).end())
      const redirected = await attempted(world, hook, `r${status}`)
      assert.deepEqual([redirected.status, redirected.statusCode], ['pending', status])
    }
    assert.equal(elsewhere.got.length, 0)

    hook.answer((response) => response.destroy())
    const reset = await attempted(world, hook, 'b')
    assert.deepEqual([reset.status, reset.statusCode], ['pending', null])
    assert.match(reset.error, /closed before the answer was whole/)

    hook.answer((response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('half')
      setTimeout(() => response.destroy(), 20)
    })
    const half = await attempted(world, hook, 'c')
    assert.deepEqual([half.status, half.statusCode], ['pending', null])

    let sent = 0
    hook.answer((response) => {
      response.on('close', () => {
        sent = response.socket?.bytesWritten ?? 0
      })
      response.writeHead(200, { 'content-length': String(100 * 1024 * 1024) })
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(64 * 1024, 120)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    })
    const huge = await attempted(world, hook, 'd')
    assert.deepEqual([huge.status, huge.statusCode, huge.response.length], ['delivered', 200, 1024])
    assert.ok(sent < 20 * 1024 * 1024, `${sent} bytes were taken`)

    hook.close()
    const refused = await attempted(world, hook, 'e')
    assert.deepEqual([refused.status, refused.error], ['pending', 'the connection was refused'])
  },
  LOCAL,
)

onBothEngines(
  'receivers that hang, answer slowly or fail delay no other by more than a second, and get at most 4 attempts at once (a bound on time)',
  async (world, t) => {
    const [hangs, drips, fails, good] = await Promise.all([receiver(t), receiver(t), receiver(t), receiver(t)])
    hangs.answer(() => {})
    drips.answer((response) => {
      response.writeHead(200)
      const drop = setInterval(() => response.write('.'), 200)
      response.on('close', () => clearInterval(drop))
    })
    fails.answer((response) => response.writeHead(500).end())
    for (const hook of [hangs, drips, fails]) await register(world, hook.url, ['project.created'])
    const goods = await register(world, good.url, ['project.created'])
    const before = Date.now()
    for (let at = 0; at < 20; at++) await seedProject(world, `p${at}`)
    await good.until(20)
    for (const { at, body } of good.got) {
      assertWithin(at - body.createdAt, 1000)
    }
    // Both time out after 15 s in all, whatever they send in that time.
    const timedOut = async () =>
      (await deliveries(world)).filter((one: { attempts: { error: string }[] }) =>
        /within 15 s/.test(one.attempts[0]?.error ?? ''),
      )
    const endpoints = async () => new Set((await timedOut()).map((one: { endpointId: string }) => one.endpointId))
    await eventually(async () => (await endpoints()).size === 2)
    for (const one of await timedOut()) assertWithin(one.attempts[0].durationMs, 16_000)
    assert.ok(Date.now() >= before + 15_000)
    // While they hung, new events were delivered to others.
    await seedProject(world, 'late')
    await good.until(21)
    assertWithin(good.got.at(-1)!.at - good.got.at(-1)!.body.createdAt, 1000)
    for (const hook of [hangs, drips, fails]) assert.ok(hook.mostOpen() <= 4, String(hook.mostOpen()))
    assert.equal(new Set(good.got.map((one) => one.body.id)).size, 21)
    // The last event has arrived; its outcome is written slightly later.
    const waiting = async () =>
      (await deliveries(world, `&endpointId=${goods.id}`)).filter(
        (one: { status: string }) => one.status !== 'delivered',
      )
    await eventually(async () => (await waiting()).length === 0)
  },
  { ...LOCAL, BERTH_TIMERS: 'on' },
)
