/** Usage reports of sites servers are counted once, and an invalid report changes nothing. docs/deploying-sites.md: Usage. */
import assert from 'node:assert/strict'
import { HOUR_MS } from '../../../src/delivery/protocol/usage-report.ts'
import { runTimer } from '../../../src/timers.ts'
import { iterations } from '../../support/iterations.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

const DAY_MS = 24 * HOUR_MS
const SERVER = 'serverserver0001'
const BEARER = { authorization: `Bearer ${SITES_TOKEN}` }

/** The clock is read once: it may go on between two reads. */
const hourNow = (world: World) => Math.floor(world.deps.clock.now() / HOUR_MS) * HOUR_MS

/** A line of one answer for each of the statuses. */
function line(deploymentId: string, hour: number, statuses: object = { '2xx': 1 }, bytes = 10) {
  const all = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, ...statuses }
  const requests = Object.values(all).reduce((sum, count) => sum + count, 0)
  return { deploymentId, hour, requests, statuses: all, bytes }
}

async function send(origin: string, body: object | string, headers: Record<string, string> = BEARER) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(`${origin}/sites/v1/usage`, { method: 'POST', headers, body: text })
  return { status: answer.status, text: await answer.text() }
}

const stored = (world: World) =>
  world.deps.db.read.selectFrom('deployment_usage').selectAll().orderBy('deployment_id').orderBy('hour').execute()

onBothEngines(
  'reports are added up by deployment and hour; one that comes again, or behind a later one, counts once',
  async (world) => {
    const web = await seedWebProject(world)
    const [first, second] = [await web.deploy(), await web.deploy()]
    const { origin, close } = await openInstance(world)
    const hour = hourNow(world)
    const one = {
      server: SERVER,
      sequence: 1,
      usage: [line(first, hour), line(first, hour - HOUR_MS), line(second, hour)],
    }
    const two = {
      server: SERVER,
      sequence: 2,
      usage: [line(first, hour, { '2xx': 2, '3xx': 3, '4xx': 4, '5xx': 5 }, 700)],
    }
    for (const report of [one, one, two, one, two]) assert.equal((await send(origin, report)).status, 200)
    const { usage } = (await world.call('GET', `/v1/deployments/${first}/usage`)).body
    assert.deepEqual(usage, [
      { hour: hour - HOUR_MS, requests: 1, statuses: { '2xx': 1, '3xx': 0, '4xx': 0, '5xx': 0 }, bytes: 10 },
      { hour, requests: 15, statuses: { '2xx': 3, '3xx': 3, '4xx': 4, '5xx': 5 }, bytes: 710 },
    ])
    assert.equal((await world.call('GET', `/v1/deployments/${second}/usage`)).body.usage[0].requests, 1)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'invocations of functions add up once, and are read with the usage of their deployment for 48 hours',
  async (world) => {
    const web = await seedWebProject(world)
    const [id, other] = [await web.deploy(), await web.deploy()]
    const { origin, close } = await openInstance(world)
    const hour = hourNow(world)
    const of = (name: string, at: number, counts: object = {}) => ({
      ...{ deploymentId: id, name, hour: at, invocations: 2, errors: 1, ms: 30 },
      ...counts,
    })
    const functions = [
      of('api/a', hour),
      of('api/a', hour - HOUR_MS),
      of('', hour, { invocations: 9, errors: 0 }),
      of('old', hour - 49 * HOUR_MS),
      of('of another', hour, { deploymentId: other }),
      of('of none', hour, { deploymentId: 'dpl_none' }),
    ]
    const report = { server: SERVER, sequence: 1, usage: [], functions }
    for (let times = 0; times < 2; times++) assert.equal((await send(origin, report)).status, 200)
    assert.equal((await send(origin, { ...report, sequence: 2, functions: [of('api/a', hour)] })).status, 200)
    const read = async () => (await world.call('GET', `/v1/deployments/${id}/usage`)).body.functions
    assert.deepEqual(await read(), [
      { name: '', invocations: 9, errors: 0, ms: 30 },
      { name: 'api/a', invocations: 6, errors: 3, ms: 90 },
    ])
    for (const wrong of [
      [of('a', hour), of('a', hour)],
      [of('x'.repeat(201), hour)],
      [of('a', 1)],
      [of('a', hour, { ms: -1 })],
    ])
      assert.equal((await send(origin, { ...report, sequence: 3, functions: wrong })).status, 400)
    world.deps.clock.set(world.deps.clock.now() + 49 * HOUR_MS)
    assert.equal(await runTimer(world.deps, 'old-function-usage', world.deps.clock.now()), 4)
    assert.deepEqual(await read(), [])
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'an invalid report is refused with a message, and changes nothing',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const { origin, ask, close } = await openInstance(world)
    const good = { server: SERVER, sequence: 1, usage: [line(id, hourNow(world))] }
    const of = (changes: object) => ({ ...good, usage: [{ ...good.usage[0], ...changes }] })
    const wrong = [
      ...['', '{', 'null', '[]', '[1]', '{}'],
      ...[
        { ...good, server: 'short' },
        { ...good, server: 7 },
        { ...good, sequence: 0 },
        { ...good, sequence: 1.5 },
      ],
      ...[
        { ...good, usage: [] },
        { ...good, usage: {} },
        { ...good, usage: [null] },
      ],
      { ...good, usage: [good.usage[0], good.usage[0]] },
      { ...good, usage: Array.from({ length: 1001 }, (_, at) => ({ ...good.usage[0], deploymentId: `d${at}` })) },
      ...[{ requests: -1 }, { requests: '1' }, { requests: 2 ** 41 }, { bytes: 2 ** 51 }, { bytes: 0.5 }].map(of),
      ...[{ hour: 1 }, { hour: -HOUR_MS }, { deploymentId: '' }, { deploymentId: 'x'.repeat(101) }].map(of),
      ...[{ statuses: { '2xx': 1 } }, { statuses: null }, { statuses: { ...good.usage[0]!.statuses, '4xx': -1 } }].map(
        of,
      ),
    ]
    for (const body of wrong) {
      const answer = await send(origin, body)
      assert.equal(answer.status, 400, JSON.stringify(body).slice(0, 200))
      assert.match(answer.text, /report of usage/)
    }
    const long = await send(origin, { ...good, more: 'x'.repeat(300_000) })
    assert.deepEqual([long.status, /at most 262144 bytes/.test(long.text)], [413, true])
    for (const headers of [{ authorization: 'Bearer wrong' }, {}])
      assert.equal((await send(origin, good, headers)).status, 401)
    const got = await ask('/sites/v1/usage')
    assert.deepEqual([got.status, got.headers.allow], [405, 'POST'])
    assert.deepEqual(await stored(world), [])
    assert.deepEqual(await world.deps.db.read.selectFrom('usage_report').selectAll().execute(), [])
    assert.equal((await send(origin, good)).status, 200)
    assert.equal((await stored(world)).length, 1)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'deployments that are not known, hours that have not begun and hours older than 30 days are passed over, the rest counts',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const { origin, close } = await openInstance(world)
    // Ten minutes before the next hour: its clock may be ahead by five.
    const hour = hourNow(world) + HOUR_MS
    world.deps.clock.set(hour - 600_000)
    const oldest = hour - 30 * DAY_MS
    const usage = [
      line('dpl_none', hour - HOUR_MS),
      ...[oldest - HOUR_MS, oldest, hour - HOUR_MS, hour].map((at) => line(id, at)),
    ]
    assert.equal((await send(origin, { server: SERVER, sequence: 1, usage })).status, 200)
    const counted = async () => (await stored(world)).map((row) => [row.deployment_id, row.hour])
    assert.deepEqual(await counted(), [
      [id, oldest],
      [id, hour - HOUR_MS],
    ])
    world.deps.clock.set(hour - 240_000)
    assert.equal((await send(origin, { server: SERVER, sequence: 2, usage: [line(id, hour)] })).status, 200)
    assert.equal((await counted()).length, 3)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'two sites servers that report to two control planes at once are added up, and a report that both are sent counts once',
  async (world) => {
    const web = await seedWebProject(world)
    const ids = [await web.deploy(), await web.deploy(), await web.deploy()]
    const instances = [await openInstance(world), await openInstance(world)]
    const hour = hourNow(world)
    /** As a sites server does: again until it is taken. */
    const untilTaken = async (origin: string, report: object) => {
      for (;;) {
        const { status, text } = await send(origin, report)
        if (status === 200) return
        assert.equal(status, 503, text)
      }
    }
    const many = iterations(10, 100)
    const serve = async (server: string, order: string[]) => {
      for (let sequence = 1; sequence <= many; sequence++) {
        const report = { server, sequence, usage: order.map((id) => line(id, hour)) }
        await Promise.all(instances.map(({ origin }) => untilTaken(origin, report)))
      }
    }
    await Promise.all([serve(SERVER, ids), serve('serverserver0002', ids.toReversed())])
    assert.deepEqual(
      (await stored(world)).map(({ requests, status_2xx, bytes }) => [requests, status_2xx, bytes]),
      ids.map(() => [2 * many, 2 * many, 20 * many]),
    )
    for (const { close } of instances) await close()
  },
  SETTINGS,
)

onBothEngines(
  'usage is removed after 30 days, and with its deployment or project',
  async (world) => {
    const web = await seedWebProject(world)
    const [first, second, third] = [await web.deploy(), await web.deploy(), await web.deploy()]
    const { origin, close } = await openInstance(world)
    const hour = hourNow(world)
    const hours = [hour, hour - HOUR_MS, hour - 2 * HOUR_MS]
    const usage = [first, second, third].flatMap((id) => hours.map((at) => line(id, at)))
    assert.equal((await send(origin, { server: SERVER, sequence: 1, usage })).status, 200)
    assert.equal((await world.call('DELETE', `/v13/deployments/${first}`)).status, 200)
    const left = async () => (await stored(world)).map((row) => [row.deployment_id, row.hour])
    const expected = [second, third].sort().flatMap((id) => hours.toReversed().map((at) => [id, at]))
    assert.deepEqual(await left(), expected)
    world.deps.clock.set(hour - HOUR_MS + 30 * DAY_MS - 60_000)
    assert.equal(await runTimer(world.deps, 'old-usage', world.deps.clock.now()), 2)
    assert.equal(await runTimer(world.deps, 'old-usage', world.deps.clock.now()), 0)
    assert.deepEqual(
      await left(),
      expected.filter(([, at]) => at !== hour - 2 * HOUR_MS),
    )
    assert.equal((await send(origin, { server: SERVER, sequence: 1, usage })).status, 200)
    assert.equal((await left()).length, 4, 'the report is still known')
    assert.equal((await world.call('DELETE', '/v9/projects/web')).status, 204)
    assert.deepEqual(await left(), [])
    await close()
  },
  SETTINGS,
)
