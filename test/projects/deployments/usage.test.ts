/** Who reads the usage of a deployment, and which hours. docs/deploying-sites.md: Usage. */
import assert from 'node:assert/strict'
import { addUsage } from '../../../src/projects/deployments/usage.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { assertRefused } from '../../support/worlds/domain-world.ts'

const HOUR_MS = 3_600_000

/** A request in each of so many hours, the last of which runs now. */
async function visit(world: World, deploymentId: string, hours: number): Promise<number> {
  const now = world.deps.clock.now()
  const hour = now - (now % HOUR_MS)
  const line = { deploymentId, requests: 1, statuses: { '2xx': 1, '3xx': 0, '4xx': 0, '5xx': 0 }, bytes: 5 }
  const usage = Array.from({ length: hours }, (_, at) => ({ ...line, hour: hour - at * HOUR_MS }))
  await world.deps.db.write((tx) => addUsage(tx, { server: 'one', sequence: 1, usage }, now))
  return hour
}

onBothEngines(
  'usage covers the last 24 hours by default, at most 30 days, by id and by host name',
  async (world) => {
    const web = await seedWebProject(world)
    const id = await web.deploy()
    assert.deepEqual((await world.call('GET', `/v1/deployments/${id}/usage`)).body, { usage: [], functions: [] })
    const hour = await visit(world, id, 800)
    const read = async (query = '') =>
      (await world.call('GET', `/v1/deployments/d1.host.test/usage${query}`)).body.usage
    const day = await read()
    assert.deepEqual(
      day.map((one: { hour: number }) => one.hour),
      Array.from({ length: 24 }, (_, at) => hour - (23 - at) * HOUR_MS),
    )
    assert.deepEqual(day[0].statuses, { '2xx': 1, '3xx': 0, '4xx': 0, '5xx': 0 })
    const two = await read(`?since=${hour - 2 * HOUR_MS}&until=${hour}`)
    assert.deepEqual(
      two.map((one: { hour: number }) => one.hour),
      [hour - 2 * HOUR_MS, hour - HOUR_MS],
    )
    assert.equal((await read('?since=0')).length, 720)
    for (const query of [`?since=${hour}&until=${hour}`, '?since=yesterday', '?until=-1'])
      assertRefused(await world.call.try('GET', `/v1/deployments/${id}/usage${query}`), 400, 'bad_request')
  },
  SETTINGS,
)

onBothEngines(
  'every user who can read the deployment can read its usage, and no other user; it moves with its project',
  async (world) => {
    const { teamId } = world.credentials
    const web = await seedWebProject(world)
    const id = await web.deploy()
    await visit(world, id, 1)
    const path = `/v1/deployments/${id}/usage`
    const stranger = await world.user('eve')
    assertRefused(await stranger.call.try('GET', path), 404, 'not_found')
    assertRefused(await world.as(undefined).try('GET', path), 401, 'forbidden')
    assertRefused(await (await world.token({ scopes: ['read:domain'] })).try('GET', path), 403, 'forbidden')
    const { code } = (await world.call('POST', '/projects/web/transfer-request', {})).body
    assert.equal((await world.call('PUT', `/projects/transfer-request/${code}?teamId=${teamId}`, {})).status, 202)
    await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
    assertRefused(await world.call.try('GET', path), 404, 'not_found')
    const member = await world.user('vera')
    await world.join(member, 'VIEWER')
    assert.equal((await member.call('GET', `/v1/deployments/${id}/usage?teamId=${teamId}`)).body.usage.length, 1)
  },
  SETTINGS,
)
