/** Whether the cron jobs of a project are to run: stored for an external scheduler. docs/projects.md: Cron jobs. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('cron jobs are disabled and enabled, and a repeat changes nothing', async (world) => {
  await seedProject(world, 'web')
  const read = async () => (await world.call('GET', '/v9/projects/web')).body
  const { createdAt, crons } = await read()
  assert.equal(crons, undefined)
  const say = async (enabled: boolean) => {
    const answer = await world.call('PATCH', '/v1/projects/web/crons', { enabled })
    assert.equal(answer.status, 200, answer.text)
    return answer.body.crons
  }
  const off = await say(false)
  assert.ok(off.disabledAt >= createdAt)
  assert.deepEqual(off, {
    ...{ enabledAt: createdAt, disabledAt: off.disabledAt, updatedAt: off.disabledAt },
    ...{ deploymentId: null, definitions: [] },
  })
  assert.deepEqual(await say(false), off)
  assert.deepEqual((await read()).crons, off)
  const on = await say(true)
  assert.deepEqual([on.disabledAt, on.enabledAt >= off.disabledAt], [null, true])
  assert.deepEqual(await say(true), on)
  assert.deepEqual((await world.call('GET', '/v9/projects')).body.projects[0].crons, on)
  for (const body of [{}, { enabled: 'no' }]) {
    assert.equal((await world.call.try('PATCH', '/v1/projects/web/crons', body)).status, 400)
  }
})
