/** What is refused of clients and runners, with a sentence. docs/building.md: Runner protocol. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { mustCountRight, SUFFIX } from '../deploys/deploying.ts'
import { DAY_MS, sha1Of, thereIs, upload } from '../uploads/uploading.ts'
import { BUILDS, createSource, entriesOf, OUTPUT, openRunners, RUNNER_TOKEN, SOURCE, stateOf } from './building.ts'

onBothEngines(
  'with builds disabled, a source is refused with what to do, and so are runners without a token',
  async (world) => {
    await seedProject(world, 'web')
    const refused = await world.call.try('POST', '/v13/deployments', { name: 'web', files: SOURCE })
    assert.equal(refused.status, 400)
    assert.match(refused.body.error.message, /does not build: BERTH_BUILDS is off.*vercel deploy --prebuilt/)
    const runners = await openRunners(world)
    const lease = await runners.lease()
    assert.equal(lease.status, 403)
    assert.match(lease.text, /Set BERTH_RUNNER_TOKEN/)
    await runners.close()
  },
  SUFFIX,
)

onBothEngines(
  'runners are refused without the right token, path, method or body',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await createSource(world)
    assert.equal((await runners.lease('runnerrunner0001', 'another-token')).status, 401)
    assert.equal((await runners.lease('short')).status, 400)
    const lease = await runners.take()
    const below = `/runner/v1/builds/${lease.deploymentId}/1`
    for (const [path, method, token, status] of [
      [`${below}/beat`, 'GET', lease.token, 405],
      [`${below}/beat`, 'POST', undefined, 401],
      [`${below}/beat`, 'POST', lease.token, 400],
      [`${below}/source`, 'GET', RUNNER_TOKEN, 409],
      [`/runner/v1/builds/${lease.deploymentId}/2/source`, 'GET', lease.token, 409],
      [`/runner/v1/builds/dpl_other/1/source`, 'GET', lease.token, 409],
      [`${below}/other`, 'POST', lease.token, 404],
      [`${below}/output/abc`, 'PUT', lease.token, 404],
    ] as const)
      assert.equal((await runners.ask(path, method, token)).status, status, `${method} ${path}`)
    const runner = runners.of(lease)
    for (const body of [{}, { outcome: 'failed' }, { outcome: 'failed', code: 'OTHER', message: 'a' }])
      assert.equal((await runner.finish(body)).status, 400)
    const long = await runners.ask(`${below}/beat`, 'POST', lease.token, 'x'.repeat(200_000))
    assert.equal(long.status, 413)
    assert.equal((await runner.beat()).status, 200)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a missing or hostile output ends in ERROR with messages',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const link = { path: '.vercel/output/static/up', kind: 'link', mode: 0o120777, size: 0, target: '../../../../etc' }
    const [config] = entriesOf(OUTPUT)
    for (const [entries, sentence] of [
      [[], /config.json is missing/],
      [entriesOf({ ...OUTPUT, '.vercel/output/static/b.html': 'never sent' }), /b\.html was not sent by the runner/],
      [[{ ...config!, size: 5 }], /has 13 bytes, not 5/],
      [[config!, link], /points outside of the upload/],
      [[config!, { ...config!, path: '.vercel/output/static/../../x' }], /leaves the output/],
    ] as const) {
      const { id } = await createSource(world)
      const runner = runners.of(await runners.take())
      for (const content of Object.values(OUTPUT)) assert.equal((await runner.put(content)).status, 200)
      const finished = await runner.finish({ outcome: 'succeeded', builder: 'vercel@64.0.2', entries })
      assert.equal(finished.status, 200, finished.text)
      const refused = await stateOf(world, id)
      assert.deepEqual([refused.readyState, refused.errorCode], ['ERROR', 'BUILD_OUTPUT_REFUSED'])
      assert.match(refused.errorMessage, sentence)
      await mustCountRight(world)
    }
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a source is refused by the sizes that its files have, and by the length of its list',
  async (world) => {
    await seedProject(world, 'web')
    const large = Buffer.alloc(11 * 1024 ** 2)
    assert.equal((await upload(world.call, large)).status, 200)
    const sha = sha1Of(large)
    const data = Buffer.from('\x01'.repeat(4000)).toString('base64')
    for (const [files, sentence] of [
      [Array.from({ length: 100 }, (_, at) => ({ file: `f${at}`, sha })), /The upload has more than 1073741824 bytes/],
      [
        Array.from({ length: 800 }, (_, at) => ({ file: `l${at}`, mode: 0o120777, data, encoding: 'base64' })),
        /The list of the files has more than 16777216 bytes/,
      ],
    ] as const) {
      const refused = await world.call.try('POST', '/v13/deployments', { name: 'web', files })
      assert.equal(refused.status, 400, refused.text)
      assert.match(refused.body.error.message, sentence)
    }
    await mustCountRight(world)
  },
  BUILDS,
)

onBothEngines(
  'a file that exceeds the free space of the account is refused, and is counted as long as it is stored',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await createSource(world)
    const runner = runners.of(await runners.take())
    const [{ used: before }, room] = [await thereIs(world), 6000]
    world.deps.config.files.perAccount = before[0]! + room
    // It fits by its bytes, and not by the blocks that it takes.
    const put = await runner.put('a'.repeat(room - 1000))
    assert.deepEqual([put.status, put.body.error.code], [409, 'budget_used_up'])
    const { files, blobs, used } = await thereIs(world)
    assert.deepEqual([files.length, used], [blobs.length, [before[0]! + 8192]])
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a source is not built again for an account without room for its log, and other accounts build on',
  async (world) => {
    await seedProject(world, 'web')
    const other = await world.user('other')
    await other.call('POST', '/v10/projects', { name: 'web' })
    const { id } = await createSource(world)
    const [used] = (await thereIs(world)).used
    world.deps.config.files.perAccount = used!
    const again = () => world.call.try('POST', '/v13/deployments', { name: 'web', deploymentId: id })
    const refused = await again()
    assert.deepEqual([refused.status, refused.body.error?.code], [409, 'budget_used_up'], refused.text)
    assert.match(refused.body.error.message, /no room for the log of this build: .* Remove deployments first/)
    const { deployments } = (await world.call('GET', '/v6/deployments')).body
    assert.deepEqual(
      deployments.map(({ uid }: { uid: string }) => uid),
      [id],
    )
    assert.equal((await other.call.try('POST', '/v13/deployments', { name: 'web', files: SOURCE })).status, 200)
    world.deps.config.files.perAccount = used! + 1
    const made = await again()
    assert.equal(made.status, 200, made.text)
    await mustCountRight(world)
  },
  BUILDS,
)

onBothEngines(
  'a file that a failed build left is kept for the next build that sends it, whenever files are collected',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const send = async () => {
      await createSource(world)
      const runner = runners.of(await runners.take())
      for (const content of Object.values(OUTPUT)) assert.equal((await runner.put(content)).status, 200)
      return runner
    }
    await (await send()).fail('BUILD_FAILED', 'it failed')
    world.deps.clock.set(world.deps.clock.now() + DAY_MS + 1)
    const next = await send()
    await world.operator('POST', '/operator/v1/timers/unused-files/run', {})
    assert.equal((await next.succeed()).status, 200)
    const [{ readyState }] = (await world.call('GET', '/v6/deployments')).body.deployments
    assert.equal(readyState, 'READY')
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a redeploy builds the source again, with the variables of the create and the settings of now',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world, { build: { env: { B: '2' } } })
    const runner = runners.of(await runners.take())
    for (const content of Object.values(OUTPUT)) await runner.put(content)
    await runner.succeed()
    await world.call('PATCH', '/v9/projects/web', { buildCommand: 'make' })
    const again = await world.call.try('POST', '/v13/deployments?forceNew=1', {
      name: 'web',
      deploymentId: id,
      meta: { action: 'redeploy' },
    })
    assert.deepEqual([again.status, again.body.readyState], [200, 'QUEUED'], again.text)
    const lease = await runners.take()
    assert.deepEqual([lease.deploymentId, lease.env.B, lease.settings.buildCommand], [again.body.id, '2', 'make'])
    await mustCountRight(world)
    await runners.close()
    await world.call('DELETE', '/v9/projects/web')
    await mustCountRight(world)
  },
  BUILDS,
)
