/** The page of runners: what each builds, drained and removed. docs/console.md: Operator; docs/runner.md: Drain and remove. */
import assert from 'node:assert/strict'
import { RUNNER_TIMES, recordRunner } from '../../../src/delivery/runners/registry.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const PATH = '/console/operator/runners'
const RUNNER = 'runnerofthepage1'

onBothEngines('a runner is listed, drained, resumed and removed', async (world) => {
  const client = await openSignedInClient(world)
  assert.match((await client.get(PATH)).text, /No runner has asked for a build/)
  await recordRunner(world.deps, { runner: RUNNER, hostname: 'build-<1>', version: '1.0.0' })
  const active = (await client.get(PATH)).text
  assert.match(active, /build-&lt;1&gt;[\s\S]*Active[\s\S]*1\.0\.0/)
  const drain = await client.post(`${PATH}/${RUNNER}/drain`, { draining: 'true' })
  assert.deepEqual([drain.status, drain.location], [303, PATH], drain.text)
  const draining = (await client.get(PATH)).text
  assert.match(draining, /role="status".*The runner is draining\.[\s\S]*Draining/)
  assert.match(draining, /name="draining" value="false">[\s\S]*?>Resume</)
  await client.post(`${PATH}/${RUNNER}/drain`, { draining: 'false' })
  assert.match((await client.get(PATH)).text, />Active</)
  assert.equal((await client.post(`${PATH}/${RUNNER}/remove`)).status, 303)
  assert.match((await client.get(PATH)).text, /No runner has asked for a build/)
  assert.equal((await client.post(`${PATH}/${RUNNER}/remove`)).status, 404)
})

onBothEngines('a runner that asks for nothing more is offline', async (world) => {
  const client = await openSignedInClient(world)
  await recordRunner(world.deps, { runner: RUNNER, hostname: 'build', version: '1.0.0' })
  const { clock } = world.deps
  clock.set(clock.now() + RUNNER_TIMES.goneMs / 2)
  assert.match((await client.get(PATH)).text, /<\/svg>Active</)
  clock.set(clock.now() + RUNNER_TIMES.goneMs)
  assert.match((await client.get(PATH)).text, /<\/svg>Offline</)
})
