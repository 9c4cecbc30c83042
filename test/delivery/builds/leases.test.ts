/** Leases: one holder at a time, and a stale one changes nothing. docs/building.md: Leases. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { LEASE_TIMES } from '../../../src/delivery/protocol/runner-protocol.ts'
import { answerBeat } from '../../../src/delivery/runners/reports.ts'
import { runTimer } from '../../../src/timers.ts'
import { seedProject } from '../../support/projects.ts'
import { copyBuild } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { mustCountRight } from '../deploys/deploying.ts'
import { BUILDS, buildOf, createSource, OUTPUT, openRunners, stateOf } from './building.ts'

/** Lets the lease of every build end without a beat. */
async function loseLeases(world: World): Promise<void> {
  const { clock } = world.deps
  clock.set(clock.now() + LEASE_TIMES.leaseMs + 1)
  await runTimer(world.deps, 'lost-builds', clock.now())
}

onBothEngines(
  'of many runners that ask at once, each build is leased to one',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const first = [(await createSource(world)).id, (await createSource(world)).id]
    const asked = Array.from({ length: 4 }, (_, at) => runners.take(`runnerrunner000${at}`))
    const more = [(await createSource(world)).id, (await createSource(world)).id]
    const leases = await Promise.all(asked)
    assert.deepEqual(leases.map(({ deploymentId }) => deploymentId).sort(), [...first, ...more].sort())
    assert.deepEqual(
      leases.map(({ attempt }) => attempt),
      [1, 1, 1, 1],
    )
    await runners.close()
  },
  { ...BUILDS, BERTH_BUILDS_PER_ACCOUNT: '10' },
)

onBothEngines(
  'a lost lease goes to another attempt; each verb of its former holder gets 409 and changes nothing',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const held = await runners.take()
    const stale = runners.of(held)
    await stale.beat()
    await stale.log(0, 'first attempt')
    const [{ digest: file }] = (await stale.source()).body
    await loseLeases(world)
    assert.equal((await stateOf(world, id)).readyState, 'QUEUED')
    const lease = await runners.take()
    assert.deepEqual([lease.deploymentId, lease.attempt], [id, 2])
    const before = await buildOf(world, id)
    const verbs: Record<string, () => Promise<{ status: number }>> = {
      beat: () => stale.beat(),
      log: () => stale.log(1, 'late'),
      missing: () => stale.missing(file),
      source: () => stale.source(),
      file: () => stale.file(file),
      put: () => stale.put('<h1>Late</h1>'),
      succeed: () => stale.succeed({}),
      fail: () => stale.fail('BUILD_FAILED', 'late'),
      cancel: () => stale.finish({ outcome: 'canceled', reason: 'late' }),
    }
    for (const [verb, ask] of Object.entries(verbs)) {
      assert.equal((await ask()).status, 409, verb)
      assert.deepEqual(await buildOf(world, id), before, verb)
    }
    const body = Readable.from([Buffer.from('{"step":"building"}')]) as IncomingMessage
    assert.equal((await answerBeat(world.deps, held, body)).status, 409, 'the lease was lost while the body came')
    assert.equal((await stateOf(world, id)).readyState, 'INITIALIZING')
    const runner = runners.of(lease)
    assert.equal((await runner.log(0, 'second attempt')).body.acknowledged, 1)
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    assert.equal((await runner.succeed()).status, 200)
    const texts = ((await world.call('GET', `/v3/deployments/${id}/events`)).body as { text: string }[]).map(
      ({ text }) => text,
    )
    assert.deepEqual(texts, [
      'first attempt',
      'The runner of this build was lost. The build starts again (attempt 2 of 3).',
      'second attempt',
      'The deployment is READY.',
    ])
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'after two more attempts a lost build is an ERROR with RUNNER_LOST',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    for (const attempt of [1, 2, 3]) {
      assert.equal((await runners.take()).attempt, attempt)
      await loseLeases(world)
    }
    const lost = await stateOf(world, id)
    assert.deepEqual([lost.readyState, lost.errorCode], ['ERROR', 'RUNNER_LOST'])
    assert.match(lost.errorMessage, /lost 3 times/)
    assert.equal((await buildOf(world, id)).state, 'ended')
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a cancel takes effect at once, and the next heartbeat reports it to the runner; a waiting build ends',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    assert.equal((await world.call('PATCH', `/v12/deployments/${id}/cancel`)).body.readyState, 'CANCELED')
    const beat = await runner.beat()
    assert.deepEqual([beat.status, beat.body.cancel], [200, true])
    assert.equal((await runner.finish({ outcome: 'canceled', reason: 'canceled' })).status, 200)
    assert.deepEqual([(await stateOf(world, id)).readyState, (await buildOf(world, id)).state], ['CANCELED', 'ended'])
    const waiting = await createSource(world)
    await world.call('PATCH', `/v12/deployments/${waiting.id}/cancel`)
    assert.equal((await buildOf(world, waiting.id)).state, 'ended')
    const skipped = await createSource(world)
    const other = runners.of(await runners.take())
    await other.finish({ outcome: 'canceled', reason: 'The ignored build step returned 0.' })
    const row = await stateOf(world, skipped.id)
    assert.deepEqual([row.readyState, row.errorMessage], ['CANCELED', 'The ignored build step returned 0.'])
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'of a branch the newest waiting preview stays, an account runs its number of builds, and 100 wait',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const meta = { githubCommitRef: 'main' }
    const [first, production] = [
      await createSource(world, { meta }),
      await createSource(world, { meta, target: 'production' }),
    ]
    const newest = await createSource(world, { meta })
    const gone = await stateOf(world, first.id)
    assert.deepEqual(
      [gone.readyState, /newer deployment of the branch main/.test(gone.errorMessage)],
      ['CANCELED', true],
    )
    assert.equal((await runners.take()).deploymentId, production.id)
    assert.equal((await runners.take()).deploymentId, newest.id)
    await createSource(world)
    const third = runners.of(await runners.take())
    const fourth = await createSource(world)
    const asked = runners.take()
    await copyBuild(world, fourth.id, 99)
    const files = [{ file: 'a', data: 'b' }]
    const refused = await world.call.try('POST', '/v13/deployments', { name: 'web', files })
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'builds_rate_limited'])
    assert.equal((await buildOf(world, fourth.id)).state, 'waiting', 'three run already')
    await third.fail('BUILD_FAILED', 'it failed')
    assert.equal((await asked).deploymentId, fourth.id)
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)
