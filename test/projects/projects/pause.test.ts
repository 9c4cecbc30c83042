/** Operations 6 and 7. Specification: Project pause. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { digest } from '../../support/stores/digest.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('pause and unpause follow the table, by id and by name, and repeating either is 200', async (world) => {
  const { call } = world
  const id = await seedProject(world, 'web')
  assert.equal('paused' in (await call('GET', '/v9/projects/web')).body, false)
  for (const said of ['web', id]) {
    for (const [verb, paused] of [
      ['pause', true],
      ['pause', true],
      ['unpause', false],
      ['unpause', false],
      ['pause', true],
      ['unpause', false],
    ] as const) {
      const answer = await call('POST', `/v1/projects/${said}/${verb}`)
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual([answer.body.id, answer.body.paused, answer.body.autoAssignCustomDomains], [id, paused, !paused])
      assert.deepEqual((await call('GET', '/v9/projects/web')).body, answer.body)
    }
  }
})

onBothEngines(
  'pausing a paused project changes nothing, also not a setting that was switched on meanwhile',
  async (world) => {
    await seedProject(world, 'web')
    await world.call('POST', '/v1/projects/web/pause')
    const on = await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: true })
    assert.deepEqual([on.status, on.body.paused, on.body.autoAssignCustomDomains], [200, true, true])
    const again = await world.call('POST', '/v1/projects/web/pause')
    assert.equal(again.status, 200)
    assert.deepEqual(again.body, on.body)
    assert.deepEqual((await world.call('GET', '/v9/projects/web')).body, on.body)
  },
)

onBothEngines('unpausing a project that is not paused changes nothing', async (world) => {
  await seedProject(world, 'web')
  await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
  const answer = await world.call('POST', '/v1/projects/web/unpause')
  assert.deepEqual([answer.status, 'paused' in answer.body, answer.body.autoAssignCustomDomains], [200, false, false])
})

onBothEngines('an unknown project is 400 with a message that names it, and nothing is written', async (world) => {
  await seedProject(world, 'web')
  const before = await digest(world)
  for (const verb of ['pause', 'unpause']) {
    for (const said of ['none', `prj_${'0'.repeat(28)}`, 'WEB', 'prj_', '%F0%9F%99%82', 'x'.repeat(300)]) {
      const answer = await world.call.try('POST', `/v1/projects/${said}/${verb}`)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], said)
      assert.ok(answer.body.error.message.includes(decodeURIComponent(said).slice(0, 100)))
    }
  }
  assert.equal(await digest(world), before)
})

onBothEngines('pause and unpause take an empty JSON body and ignore another', async (world) => {
  await seedProject(world, 'web')
  for (const body of ['', '{}', '{"a":1}', '{nonsense']) {
    for (const verb of ['pause', 'unpause']) {
      assert.equal((await world.call('POST', `/v1/projects/web/${verb}`, body)).status, 200, body)
    }
  }
})

onBothEngines('of many concurrent pauses and unpauses the last one is in effect completely', async (world) => {
  await seedProject(world, 'web')
  const verbs = Array.from({ length: 24 }, (_, at) => (at % 2 ? 'pause' : 'unpause'))
  const answers = await Promise.all(verbs.map((verb) => world.call.try('POST', `/v1/projects/web/${verb}`)))
  for (const answer of answers) assert.equal(answer.status, 200, answer.text)
  const { body } = await world.call('GET', '/v9/projects/web')
  assert.equal(body.autoAssignCustomDomains, !body.paused)
  assert.equal((await world.call('POST', '/v1/projects/web/pause')).body.paused, true)
})

onBothEngines('pausing does not keep a project from being updated or deleted', async (world) => {
  await seedProject(world, 'web')
  await world.call('POST', '/v1/projects/web/pause')
  const changed = await world.call('PATCH', '/v9/projects/web', { devCommand: 'run' })
  assert.deepEqual([changed.status, changed.body.paused, changed.body.autoAssignCustomDomains], [200, true, false])
  assert.equal((await world.call('DELETE', '/v9/projects/web')).status, 204)
})
