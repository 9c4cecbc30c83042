/** From a source to a page: create, lease, source, log, output, READY. docs/building.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { mustCountRight } from '../deploys/deploying.ts'
import { nodeFunction } from '../outputs/upload.ts'
import { upload } from '../uploads/uploading.ts'
import { BUILDS, createSource, OUTPUT, openRunners, SOURCE, sha256Of, stateOf } from './building.ts'

onBothEngines(
  'a source is queued, leased, built and READY, and its files are listed',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const made = await createSource(world, { env: { A: '1' }, build: { env: { B: '2' } }, target: 'production' })
    assert.deepEqual([made.readyState, made.aliasAssigned, typeof made.buildingAt], ['QUEUED', false, 'number'])
    const lease = await runners.take()
    assert.equal(lease.deploymentId, made.id)
    assert.equal((await stateOf(world, made.id)).readyState, 'INITIALIZING')
    const { A, B, VERCEL, CI, VERCEL_ENV, VERCEL_URL } = lease.env
    assert.deepEqual([A, B, VERCEL, CI, VERCEL_ENV, VERCEL_URL], [undefined, '2', '1', '1', 'production', made.url])
    assert.deepEqual(lease.masked, ['B'])
    const runner = runners.of(lease)
    const source = (await runner.source()).body
    assert.deepEqual(
      source.map(({ path, kind }: { path: string; kind: string }) => [path, kind]),
      SOURCE.map(({ file }) => [file, 'file']).sort(),
    )
    assert.equal((await runner.file(sha256Of('<h1>Hello</h1>'))).text, '<h1>Hello</h1>')
    assert.equal((await runner.file(sha256Of('another'))).status, 404)
    const beat = await runner.beat()
    assert.deepEqual([beat.status, beat.body.cancel, beat.body.acknowledged], [200, false, 0])
    assert.equal((await stateOf(world, made.id)).readyState, 'BUILDING')
    assert.equal((await runner.log(0, 'one', 'two')).body.acknowledged, 2)
    const names = Object.values(OUTPUT).map(sha256Of)
    const other = await world.user('other')
    for (const content of Object.values(OUTPUT)) assert.equal((await upload(other.call, content)).status, 200)
    assert.deepEqual((await runner.missing(...names)).body.sha256, names, 'another account has them')
    for (const content of Object.values(OUTPUT)) assert.equal((await runner.put(content)).status, 200)
    assert.equal((await runner.put('bytes', sha256Of('other bytes'))).status, 400)
    assert.equal((await runner.succeed()).status, 200)
    const ready = await stateOf(world, made.id)
    assert.deepEqual([ready.readyState, ready.aliasAssigned, ready.readySubstate], ['READY', true, 'PROMOTED'])
    const { body: files } = await world.call('GET', `/v6/deployments/${made.id}/files`)
    assert.deepEqual(
      files.map(({ name }: { name: string }) => name),
      ['index.html'],
    )
    await mustCountRight(world)
    const ended = await stateOf(world, made.id)
    assert.equal((await runner.succeed()).status, 200, 'the answer to the report may be lost')
    assert.equal((await runner.fail('BUILD_FAILED', 'late')).status, 200)
    assert.deepEqual(await stateOf(world, made.id), ended, 'a build ends once')
    assert.deepEqual([(await runner.beat()).status, (await runner.source()).status], [409, 409])
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'parts of an output that have no effect here are warnings at the end of the log',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const { id } = await createSource(world)
    const runner = runners.of(await runners.take())
    const functions = Object.entries(nodeFunction('api/hello')).map(([path, text]) => [`.vercel/output/${path}`, text])
    const contents: Record<string, string> = { ...OUTPUT, ...Object.fromEntries(functions) }
    for (const content of Object.values(contents)) assert.equal((await runner.put(content)).status, 200)
    await runner.log(0, 'built')
    assert.equal((await runner.succeed(contents)).status, 200)
    const { body } = await world.call('GET', `/v3/deployments/${id}/events`)
    assert.match(
      body.map(({ text }: { text: string }) => text).join('\n'),
      /^built\nWarning: The function \(api\/hello\) will not run: functions are off on this server\./,
    )
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)
