/** Deployments that are removed for their age: which ones, when, and what stays for ever. docs/deployments.md: Expiration. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { setStamp } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { deploymentEvents, SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'
import { seedTransferAccounts } from '../../support/worlds/transfer-world.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const NEVER = { expirationDaysProduction: 36_500, expirationDaysCanceled: 36_500, expirationDaysErrored: 36_500 }

async function expire(world: World, project: string, body: object) {
  const answer = await world.call('PATCH', `/v9/projects/${project}/deployment-expiration`, body)
  assert.equal(answer.status, 200, answer.text)
  return answer.body.deploymentExpiration
}

const sweep = (world: World, afterMs: number) => runTimer(world.deps, 'expired-deployments', Date.now() + afterMs)

async function ids(world: World): Promise<string[]> {
  const rows = await world.deps.db.read.selectFrom('deployment').select('id').execute()
  return rows.map(({ id }) => id).sort()
}

onBothEngines('the expiration settings of a project are stored, field by field', async (world) => {
  await seedProject(world, 'web')
  const shown = async () => (await world.call('GET', '/v9/projects/web')).body.deploymentExpiration
  assert.deepEqual(await shown(), {})
  assert.deepEqual(await expire(world, 'web', { expiration: '1w' }), {
    expiration: '1w',
    expirationProduction: 'unlimited',
    expirationCanceled: 'unlimited',
    expirationErrored: 'unlimited',
  })
  assert.deepEqual(await shown(), { expirationDays: 7, ...NEVER })
  await expire(world, 'web', { expirationErrored: '1d', expirationProduction: '1y', expirationCanceled: '3m' })
  assert.deepEqual(await shown(), {
    ...{ expirationDays: 7, expirationDaysProduction: 365, expirationDaysCanceled: 90, expirationDaysErrored: 1 },
  })
  const wrong = await world.call.try('PATCH', '/v9/projects/web/deployment-expiration', { expiration: '5 minutes' })
  assert.deepEqual([wrong.status, wrong.body.error.code], [400, 'bad_request'])
  assert.match(wrong.body.error.message, /`expiration` should be one of "1d"/)
  assert.equal((await world.call('GET', '/v9/projects')).body.projects[0].deploymentExpiration.expirationDays, 7)
})

onBothEngines(
  'each kind of deployment expires after its own time, except those that serve or have a name',
  async (world) => {
    const web = await seedWebProject(world, ['one', 'two'])
    const other = await seedProject(world, 'other')
    const others = await seedDeployment(world, other, { url: 'other.host.test', target: 'preview' })
    const old = await web.deploy({ meta: { commit: 'a' } })
    const live = await web.deploy()
    const byHand = await web.deploy({ target: 'preview' })
    assert.equal(
      (await world.call('POST', `/v2/deployments/${byHand}/aliases`, { alias: 'hand.apps.example.net' })).status,
      200,
    )
    // While the last production deployment failed, no domain is added.
    const errored = await web.deploy({ readyState: 'ERROR' })
    const canceled = await web.deploy({ target: 'preview', readyState: 'CANCELED' })
    const preview = await web.deploy({ target: 'preview' })
    const building = await web.deploy({ target: 'preview', readyState: 'BUILDING' })
    await expire(world, 'web', { expiration: '1d', expirationErrored: '1w', expirationProduction: '1m' })
    const all = [old, errored, canceled, preview, building, byHand, live, others].sort()
    const without = (...gone: string[]) => all.filter((id) => !gone.includes(id))

    await sweep(world, DAY_MS - HOUR_MS)
    assert.deepEqual(await ids(world), all)
    await sweep(world, DAY_MS + HOUR_MS)
    assert.deepEqual(await ids(world), without(preview, building))
    assert.equal((await world.call.try('GET', `/v13/deployments/${preview}`)).status, 404)
    await sweep(world, 7 * DAY_MS + HOUR_MS)
    assert.deepEqual(await ids(world), without(preview, building, errored))
    await sweep(world, 31 * DAY_MS)
    assert.deepEqual(await ids(world), without(preview, building, errored, old))
    await sweep(world, 30_000 * DAY_MS)
    assert.deepEqual(await ids(world), [canceled, byHand, live, others].sort())
    assert.deepEqual(await world.deps.db.read.selectFrom('deployment_meta').selectAll().execute(), [])
    const shown = await web.read()
    assert.deepEqual([shown.live, shown.targets.production.id, shown.latestDeployments.length], [true, live, 3])
    const told = (await deploymentEvents(world)).filter(({ type }) => type === 'deployment.cleanup')
    assert.deepEqual(
      told.map(({ payload }) => (payload.deployment as { id: string }).id).sort(),
      [preview, building, errored, old].sort(),
    )
  },
  SETTINGS,
)

onBothEngines(
  'an unfinished promote keeps both deployments, and a finished one is deleted with its deployment',
  async (world) => {
    const web = await seedWebProject(world)
    const first = await web.deploy()
    const second = await web.deploy()
    const third = await web.deploy()
    assert.equal((await web.promote(first)).status, 201)
    await expire(world, 'web', { expirationProduction: '1d' })
    await sweep(world, 2 * DAY_MS)
    assert.deepEqual(await ids(world), [first, third].sort(), 'domains still point to the third')
    await web.sweep()
    assert.equal((await web.read()).lastAliasRequest.jobStatus, 'succeeded')
    assert.equal((await web.promote(third)).status, 201)
    await web.sweep()
    await sweep(world, 4 * DAY_MS)
    assert.deepEqual(await ids(world), [third])
    assert.ok(!(await ids(world)).includes(second))
    const requests = await world.deps.db.read.selectFrom('alias_request').selectAll().execute()
    assert.deepEqual(
      requests.map((row) => row.to_deployment_id),
      [third],
    )
  },
  SETTINGS,
)

onBothEngines(
  'nothing expires within an hour of the setting, after the setting is withdrawn, or during a transfer',
  async (world) => {
    const { projectId, offer, take, sweep: move } = await seedTransferAccounts(world)
    const preview = await seedDeployment(world, projectId, { url: 'a.host.test', target: 'preview' })
    await setStamp(world, 'deployment', 1)
    await expire(world, 'web', { expiration: '1d' })
    await sweep(world, HOUR_MS / 2)
    assert.deepEqual(await ids(world), [preview])
    await expire(world, 'web', { expiration: 'unlimited' })
    await sweep(world, 2 * HOUR_MS)
    assert.deepEqual(await ids(world), [preview])
    await expire(world, 'web', { expiration: '1d' })
    assert.equal((await take(await offer())).status, 202)
    const refused = await world.call.try('PATCH', '/v9/projects/web/deployment-expiration', { expiration: '1w' })
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'conflict'], refused.text)
    await sweep(world, 2 * HOUR_MS)
    assert.deepEqual(await ids(world), [preview])
    await move()
    await sweep(world, 2 * HOUR_MS)
    assert.deepEqual(await ids(world), [], 'it moved along with what it says')
  },
)

onBothEngines('many that are due all go in one run, of one project and of several', async (world) => {
  const names = Array.from({ length: 21 }, (_, at) => `p${at}`)
  const projects = await Promise.all(names.map((name) => seedProject(world, name)))
  const urls = Array.from({ length: 21 }, (_, at) => `d${at}.host.test`)
  const target = 'preview'
  await Promise.all(urls.map((url) => seedDeployment(world, projects[0]!, { url, target })))
  await seedDeployment(world, projects[20]!, { url: 'last.host.test', target })
  await Promise.all(names.map((name) => expire(world, name, { expiration: '1w' })))
  await sweep(world, 8 * DAY_MS)
  assert.deepEqual(await ids(world), [])
  const rows = await world.deps.db.read.selectFrom('project').select('expiration_checked_at').execute()
  assert.ok(
    rows.every((row) => row.expiration_checked_at! > Date.now() + 7 * DAY_MS),
    'each was looked at',
  )
})
