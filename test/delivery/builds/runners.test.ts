/** Runners as the operator sees them: listed, drained, resumed and removed. docs/runner.md: Drain and remove. */
import assert from 'node:assert/strict'
import { mock } from 'node:test'
import { LEASE_PATH, LEASE_TIMES, type Lease } from '../../../src/delivery/protocol/runner-protocol.ts'
import { MAX_RUNNERS, purgeRunners, RUNNER_TIMES, recordRunner } from '../../../src/delivery/runners/registry.ts'
import { runTimer } from '../../../src/timers.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { BUILDS, buildOf, createSource, OUTPUT, openRunners, RUNNER_TOKEN, stateOf } from './building.ts'

const [FIRST, SECOND] = ['runnerrunner0001', 'runnerrunner0002']
const hello = (runner: string) => ({ runner, hostname: 'build-1', version: '1.0.0' })

async function listed(world: World) {
  return (await world.operator('GET', '/operator/v1/runners')).body.runners
}

/** Values by name and labels, without `berth_`. */
async function metricsOf(world: World) {
  const { text } = await world.operator('GET', '/metrics')
  return (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`berth_${name} `))
        ?.split(' ')[1],
    )
}

function drain(world: World, runner: string, draining = true) {
  return world.operator.try('PATCH', `/operator/v1/runners/${runner}`, { draining })
}

function remove(world: World, runner: string) {
  return world.operator.try('DELETE', `/operator/v1/runners/${runner}`)
}

onBothEngines(
  'runners are listed with their builds; a drained one finishes its build and gets no other until it is resumed',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const held = runners.of(await runners.take(FIRST))
    const [seen] = await listed(world)
    assert.deepEqual(
      { ...seen, firstSeenAt: 0, lastSeenAt: 0 },
      {
        ...{ id: FIRST, hostname: 'test', version: '1', state: 'active', builds: 1, deployments: [id] },
        ...{ firstSeenAt: 0, lastSeenAt: 0 },
      },
    )
    await recordRunner(world.deps, hello(SECOND))
    const drained = await drain(world, FIRST)
    assert.deepEqual([drained.status, drained.body.state, drained.body.builds], [200, 'draining', 1])
    const next = await createSource(world)
    const idle = runners.lease(FIRST)
    assert.equal((await held.beat()).status, 200, 'its build goes on')
    assert.equal((await held.fail('BUILD_FAILED', 'it failed')).status, 200)
    // The drained runner has waited for longer than this one.
    const other = await runners.take(SECOND)
    assert.equal(other.deploymentId, next.id)
    await runners.of(other).fail('BUILD_FAILED', 'it failed')
    const last = await createSource(world)
    assert.equal((await drain(world, FIRST, false)).body.state, 'active')
    const answer = await idle
    assert.deepEqual([answer.status, answer.body.deploymentId], [200, last.id])
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a build wakes a runner that takes it, however many requests of drained ones were first',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await recordRunner(world.deps, hello(FIRST))
    const { setTimeout: start } = globalThis
    let held = 0
    // No request looks again, neither each second nor at the end of its wait.
    const timers = mock.method(globalThis, 'setTimeout', (...[run, ms = 0]: Parameters<typeof start>) => {
      const isEnd = ms > 14_000 && ms <= LEASE_TIMES.pollMs
      if (isEnd) held++
      return start(isEnd || ms === 1000 ? () => {} : run, ms)
    })
    const asked: Promise<unknown>[] = Array.from({ length: 20 }, () => runners.lease(FIRST))
    let taken: Lease | undefined
    const take = async () => {
      taken = await runners.take(SECOND)
    }
    try {
      await eventually(() => held === 20)
      asked.push(take())
      await eventually(() => held === 21)
      assert.equal((await drain(world, FIRST)).status, 200)
      const { id } = await createSource(world)
      await eventually(() => taken?.deploymentId === id)
    } finally {
      timers.mock.restore()
      await runners.close()
    }
    await Promise.all(asked)
  },
  BUILDS,
)

onBothEngines(
  'requests of a drained runner that look whether it is resumed wake no others',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { setTimeout: start } = globalThis
    const looks: (() => void)[] = []
    let held = 0
    // The test says when one looks again.
    const timers = mock.method(globalThis, 'setTimeout', (...[run, ms = 0]: Parameters<typeof start>) => {
      const isEnd = ms > 14_000 && ms <= LEASE_TIMES.pollMs
      if (isEnd) held++
      if (ms === 1000) looks.push(run as () => void)
      return start(isEnd || ms === 1000 ? () => {} : run, ms)
    })
    const asked: Promise<unknown>[] = []
    try {
      await createSource(world)
      await runners.take(SECOND)
      // It waits for the one of its account.
      await createSource(world)
      await recordRunner(world.deps, hello(FIRST))
      assert.equal((await drain(world, FIRST)).status, 200)
      for (const runner of [FIRST, SECOND]) asked.push(...Array.from({ length: 6 }, () => runners.lease(runner)))
      await eventually(() => held >= 12)
      const writes = mock.method(world.deps.db, 'write')
      looks.at(-1)!()
      await eventually(() => held >= 12 + 7)
      assert.equal(writes.mock.callCount(), 1, 'one request asks for a build')
      writes.mock.restore()
    } finally {
      timers.mock.restore()
      await runners.close()
    }
    await Promise.all(asked)
  },
  { ...BUILDS, BERTH_BUILDS_PER_ACCOUNT: '1' },
)

onBothEngines(
  'builds of a removed runner return to the queue at once; the runner gets an error and no other build',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const held = runners.of(await runners.take(FIRST))
    await held.beat()
    await createSource(world)
    const others = runners.of(await runners.take(SECOND))
    assert.equal((await remove(world, FIRST)).status, 204)
    assert.deepEqual([(await held.beat()).status, (await others.beat()).status], [409, 200])
    await runTimer(world.deps, 'lost-builds', world.deps.clock.now())
    assert.equal((await stateOf(world, id)).readyState, 'QUEUED')
    assert.deepEqual(
      (await listed(world)).map((runner) => runner.id),
      [SECOND],
    )
    assert.deepEqual([(await remove(world, FIRST)).status, (await drain(world, FIRST)).status], [404, 404])
    world.deps.clock.set(world.deps.clock.now() + RUNNER_TIMES.writeMs)
    const refused = await runners.lease(FIRST)
    assert.equal(refused.status, 403)
    assert.match(refused.body.error.message, /removed this runner. Start it again/)
    assert.deepEqual(
      (await listed(world)).map((runner) => [runner.id, runner.state]),
      [
        [FIRST, 'removed'],
        [SECOND, 'active'],
      ],
      'one that asks again is seen',
    )
    const again = await runners.take(SECOND)
    assert.deepEqual([again.deploymentId, again.attempt], [id, 2])
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'waiting and running builds, runners, and build results are metrics',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const first = runners.of((await Promise.all([runners.take(FIRST), createSource(world)]))[0])
    await createSource(world)
    await recordRunner(world.deps, hello(SECOND))
    await drain(world, SECOND)
    world.deps.clock.set(world.deps.clock.now() + 20_000)
    const before = await metricsOf(world)
    assert.deepEqual(
      ['builds_waiting', 'builds_running', 'runners{state="active"}', 'runners{state="draining"}'].map(before),
      [1, 1, 1, 1],
    )
    assert.ok(before('builds_oldest_seconds') >= 20)
    await first.fail('BUILD_FAILED', 'it failed')
    const second = runners.of(await runners.take(FIRST))
    for (const content of Object.values(OUTPUT)) await second.put(content)
    await second.succeed()
    assert.equal((await second.succeed()).status, 200, 'an end counts once')
    await createSource(world)
    await runners.of(await runners.take(FIRST)).finish({ outcome: 'canceled', reason: 'nothing has changed' })
    const after = await metricsOf(world)
    const ended = (outcome: string) => after(`build_duration_seconds_count{outcome="${outcome}"}`)
    assert.deepEqual(['ready', 'BUILD_FAILED', 'canceled'].map(ended), [1, 1, 1])
    assert.ok(after('build_duration_seconds_sum{outcome="BUILD_FAILED"}') >= 20)
    assert.deepEqual([after('builds_waiting'), after('builds_running'), after('builds_oldest_seconds')], [0, 0, 0])
    await runners.close()
  },
  BUILDS,
)

for (const [what, act] of [
  ['drained', drain],
  ['removed', remove],
] as const)
  onBothEngines(
    `a runner that is ${what} during its request gets a valid lease, or none`,
    async (world) => {
      await seedProject(world, 'web')
      const runners = await openRunners(world)
      for (let round = 0; round < 6; round++) {
        const runner = `runnerrunnerr${String(round).padStart(3, '0')}`
        await recordRunner(world.deps, hello(runner))
        const { id } = await createSource(world)
        const gone = new AbortController()
        const body = JSON.stringify(hello(runner))
        const headers = { authorization: `Bearer ${RUNNER_TOKEN}` }
        const asked = fetch(runners.origin + LEASE_PATH, { method: 'POST', headers, body, signal: gone.signal })
        const answered = asked.then(
          ({ status }) => status,
          () => 0,
        )
        const acted = await act(world, runner)
        assert.ok(acted.status < 300, `${acted.status}`)
        const then = await buildOf(world, id)
        assert.deepEqual(then.state === 'leased' ? then.runner : null, then.state === 'leased' ? runner : null)
        world.deps.wakeups.builds()
        await runTimer(world.deps, 'lost-builds', world.deps.clock.now())
        const now = await buildOf(world, id)
        assert.equal(now.state, what === 'removed' ? 'waiting' : then.state, 'nothing is leased after the answer')
        gone.abort()
        await answered
        await world.call('PATCH', `/v12/deployments/${id}/cancel`)
      }
      await runners.close()
    },
    { ...BUILDS, BERTH_BUILDS_PER_ACCOUNT: '100' },
  )

onBothEngines(
  'the data that runners report is bounded: 500 rows, and the row inactive for longest is replaced',
  async (world) => {
    const { deps } = world
    const name = (at: number) => `runner${String(at).padStart(10, '0')}`
    const start = deps.clock.now()
    for (let at = 0; at < MAX_RUNNERS; at++) await recordRunner(deps, hello(name(at)))
    assert.equal(await recordRunner(deps, hello(FIRST)), 'full')
    deps.clock.set(start + RUNNER_TIMES.goneMs - 1)
    for (let at = 1; at < MAX_RUNNERS; at++) await recordRunner(deps, hello(name(at)))
    const later = start + RUNNER_TIMES.goneMs + 3_600_000
    deps.clock.set(later)
    assert.equal(await recordRunner(deps, { ...hello(FIRST), hostname: 'a\u0000b\u001b[31m' }), 'active')
    const rows = await listed(world)
    assert.equal(rows.length, MAX_RUNNERS)
    assert.ok(!rows.some(({ id }) => id === name(0)))
    assert.equal(rows.find(({ id }) => id === FIRST)?.hostname, 'a?b?[31m')
    const now = later - 1_800_000 + RUNNER_TIMES.retentionMs
    assert.equal(await deps.db.write((db) => purgeRunners({ db, now }, 1000)), MAX_RUNNERS - 1)
    assert.deepEqual(
      (await listed(world)).map(({ id }) => id),
      [FIRST],
    )
  },
  BUILDS,
)
