/** The queue of many: no account or owner hides another, and a lease that no runner got costs nothing. docs/building.md: Queue, Leases. */
import assert from 'node:assert/strict'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openLeaseDesk } from '../../../src/delivery/runners/lease.ts'
import { callWith } from '../../support/call.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { copyBuild } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { mustCountRight } from '../deploys/deploying.ts'
import { BUILDS, buildOf, createSource, openRunners, RUNNER, stateOf } from './building.ts'

const SOURCE = { name: 'web', files: [{ file: 'a', data: 'b' }] }

onBothEngines(
  'behind thousands of waiting builds of an account that is at its limit, another account has its turn',
  async (world) => {
    await seedProject(world, 'web')
    const other = await world.user('other')
    await other.call('POST', '/v10/projects', { name: 'web' })
    const runners = await openRunners(world)
    const first = await createSource(world)
    await copyBuild(world, first.id, 2100)
    assert.equal((await runners.take()).deploymentId, first.id)
    const theirs = await other.call('POST', '/v13/deployments', SOURCE)
    assert.equal((await runners.take()).deploymentId, theirs.body.id)
    await runners.close()
  },
  { ...BUILDS, BERTH_BUILDS_PER_ACCOUNT: '1' },
)

onBothEngines(
  'accounts of one owner share turns and the number of waiting builds',
  async (world) => {
    const { teamId, userId } = world.credentials
    const team = callWith(world.call, `teamId=${teamId}`)
    await seedProject(world, 'web')
    await team('POST', '/v10/projects', { name: 'web' })
    const other = await world.user('other')
    await other.call('POST', '/v10/projects', { name: 'web' })
    const runners = await openRunners(world)
    const own = await createSource(world)
    const ofTeam = (await team('POST', '/v13/deployments', SOURCE)).body
    const theirs = (await other.call('POST', '/v13/deployments', SOURCE)).body
    assert.deepEqual(
      await Promise.all([own, ofTeam, theirs].map(async ({ id }) => (await buildOf(world, id)).owner_id)),
      [userId, userId, other.id],
    )
    const order = [await runners.take(), await runners.take(), await runners.take()]
    assert.deepEqual(
      order.map(({ deploymentId }) => deploymentId),
      [own.id, theirs.id, ofTeam.id],
    )
    const waiting = await createSource(world)
    await copyBuild(world, waiting.id, 99)
    const teams = await team('POST', '/v13/deployments?forceNew=1', { ...SOURCE, meta: { again: '1' } })
    await copyBuild(world, teams.body.id, 99, 'team')
    const { teamId: secondId } = (await world.call('POST', '/v1/teams', { slug: 'second' })).body as never
    const second = callWith(world.call, `teamId=${secondId ?? (await idOf(world.call, 'second'))}`)
    await second('POST', '/v10/projects', { name: 'web' })
    const refused = await second.try('POST', '/v13/deployments', SOURCE)
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'builds_rate_limited'])
    assert.match(refused.body.error.message, /^200 builds of the accounts of the owner/)
    assert.equal((await other.call.try('POST', '/v13/deployments?forceNew=1', SOURCE)).status, 200)
    await runners.close()
  },
  BUILDS,
)

onBothEngines(
  'a lease whose response was not sent is released at once, and costs no attempt',
  async (world, t) => {
    await seedProject(world, 'web')
    const { id } = await createSource(world)
    const desk = openLeaseDesk(world.deps)
    const server = createServer(async (asked, response) => {
      await desk.answer(asked, response)
      // The runner is gone before the response is written.
      response.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const asked = request({ port, host: '127.0.0.1', method: 'POST' })
    const broken = new Promise((resolve) => asked.once('error', resolve))
    asked.end(JSON.stringify({ runner: RUNNER, hostname: 'test', version: '1' }))
    await broken
    await eventually(async () => (await buildOf(world, id)).state === 'waiting')
    const { attempt, token_hash, lease_until } = await buildOf(world, id)
    assert.deepEqual([Number(attempt), token_hash, lease_until], [0, null, null])
    assert.equal((await stateOf(world, id)).readyState, 'QUEUED')
    desk.close()
    const runners = await openRunners(world)
    const lease = await runners.take()
    assert.deepEqual([lease.deploymentId, lease.attempt], [id, 1])
    await mustCountRight(world)
    await runners.close()
  },
  BUILDS,
)

async function idOf(call: Parameters<typeof callWith>[0], slug: string): Promise<string> {
  const { teams } = (await call('GET', '/v2/teams')).body as { teams: { id: string; slug: string }[] }
  return teams.find((team) => team.slug === slug)!.id
}
