/** Cron jobs of production run at most once for each time of their schedule. docs/functions.md: Cron jobs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaseRuns } from '../../../src/delivery/crons/runs.ts'
import { nextTimes, scheduleError } from '../../../src/delivery/crons/schedule.ts'
import type { Queries } from '../../../src/platform/db/db.ts'
import { runTimer } from '../../../src/timers.ts'
import { seedProject } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { openInstance, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { create, deploy, SUFFIX, uploadAll } from '../deploys/deploying.ts'

const SETTINGS = { ...SUFFIX, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' }
const MINUTE = 60_000

function siteWith(...crons: object[]) {
  return {
    '.vercel/output/config.json': JSON.stringify({ version: 3, crons }),
    '.vercel/output/static/index.html': '<h1>Hello</h1>',
  }
}

const PRODUCTION = { target: 'production' }
const EACH_MINUTE = { path: '/api/job', schedule: '* * * * *' }

async function openCrons(world: World) {
  await seedProject(world, 'web')
  const instances = [await openInstance(world), await openInstance(world)]
  const post = async (at: number, path: string, body: object) => {
    const headers = { authorization: `Bearer ${SITES_TOKEN}` }
    const answer = await fetch(`${instances[at]!.origin}/sites/v1/crons/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return { status: answer.status, text: await answer.text() }
  }
  const lease = async (at = 0, body: object = {}) => JSON.parse((await post(at, 'lease', body)).text).runs
  const listed = async () => (await world.call('GET', '/v1/projects/web/crons')).body
  const { clock } = world.deps
  return {
    post,
    lease,
    listed,
    follow: () => runTimer(world.deps, 'cron-jobs', clock.now()),
    pass: (ms = MINUTE) => clock.set(clock.now() + ms),
    close: () => Promise.all(instances.map((one) => one.close())),
  }
}

onBothEngines(
  'a time that several control planes run at once runs once',
  async (world) => {
    const crons = await openCrons(world)
    const { url } = await deploy(world.call, siteWith(EACH_MINUTE), {
      ...PRODUCTION,
      env: { CRON_SECRET: 'of the create' },
    })
    await crons.follow()
    assert.deepEqual(await crons.lease(), [], 'not before its time')
    for (let round = 1; round <= 5; round++) {
      crons.pass()
      const leased = (await Promise.all([0, 1, 0, 1, 0, 1].map((at) => crons.lease(at)))).flat()
      assert.equal(leased.length, 1)
      const { id, owner: _, ...run } = leased[0]
      assert.deepEqual(run, { host: url.split(':')[0], isSecure: false, ...EACH_MINUTE, secret: 'of the create' })
      const result = { id, status: 200 + round, fault: null }
      assert.equal((await crons.post(1, 'results', result)).status, 200)
      assert.equal((await crons.post(0, 'results', { ...result, status: 500 })).status, 200, 'the first result counts')
    }
    const { runs, crons: jobs, enabled } = await crons.listed()
    assert.deepEqual([enabled, runs.map(({ status }: { status: number }) => status)], [true, [205, 204, 203, 202, 201]])
    const [job] = jobs
    const next = Math.ceil((world.deps.clock.now() + 1) / MINUTE) * MINUTE
    assert.deepEqual(
      job.nextTimes,
      [0, 1, 2, 3, 4].map((at) => next + at * MINUTE),
    )
    for (const wrong of [{}, { id: 'x', status: 'x', fault: null }])
      assert.equal((await crons.post(0, 'results', wrong)).status, 400)
    await crons.close()
  },
  SETTINGS,
)

onBothEngines(
  'paused projects and switched-off cron jobs do not run, and the next time after that does',
  async (world) => {
    const crons = await openCrons(world)
    const { projectId } = await deploy(world.call, siteWith(EACH_MINUTE), PRODUCTION)
    await crons.follow()
    const count = async () => {
      crons.pass()
      return (await crons.lease()).length
    }
    assert.equal(await count(), 1)
    await world.call('PATCH', '/v1/projects/web/crons', { enabled: false })
    assert.equal(await count(), 0)
    assert.deepEqual((await crons.listed()).crons[0].nextTimes, [])
    await world.call('PATCH', '/v1/projects/web/crons', { enabled: true })
    assert.deepEqual(await crons.lease(), [], 'a time that passed is not repeated')
    assert.equal(await count(), 1)
    await world.call('POST', `/v1/projects/${projectId}/pause`)
    assert.equal(await count(), 0)
    await world.call('POST', `/v1/projects/${projectId}/unpause`)
    assert.equal(await count(), 1)
    crons.pass(10 * MINUTE)
    assert.deepEqual(await crons.lease(), [])
    assert.match((await crons.listed()).runs[0].fault, /missed/)
    await crons.close()
  },
  SETTINGS,
)

onBothEngines(
  'the jobs are those of the deployment in production, and go with it',
  async (world) => {
    const crons = await openCrons(world)
    const paths = async () => (await crons.listed()).crons.map(({ path }: { path: string }) => path)
    const first = await deploy(world.call, siteWith(EACH_MINUTE), PRODUCTION)
    await deploy(world.call, siteWith({ path: '/preview', schedule: '* * * * *' }))
    await crons.follow()
    assert.deepEqual(await paths(), ['/api/job'])
    const second = await deploy(
      world.call,
      siteWith({ path: '/b', schedule: '0 1 * * *' }, { path: '/c', schedule: '5 4 * * 1-5' }),
      PRODUCTION,
    )
    crons.pass()
    assert.deepEqual(await crons.lease(), [], 'a job of a former production does not run')
    await crons.follow()
    assert.deepEqual(await paths(), ['/b', '/c'])
    await world.call('DELETE', `/v13/deployments/${second.id}`)
    await crons.follow()
    assert.deepEqual(await paths(), [])
    await world.call('POST', `/v10/projects/web/promote/${first.id}`, {})
    await runTimer(world.deps, 'alias-requests', world.deps.clock.now())
    await crons.follow()
    crons.pass()
    assert.equal((await crons.lease()).length, 1)
    await world.call('DELETE', '/v9/projects/web')
    for (const table of ['cron_job', 'cron_run'] as const)
      assert.deepEqual(await world.deps.db.read.selectFrom(table).selectAll().execute(), [])
    await crons.close()
  },
  SETTINGS,
)

onBothEngines(
  'a time that ran before a new production does not run again after it',
  async (world) => {
    const crons = await openCrons(world)
    await deploy(world.call, siteWith(EACH_MINUTE), PRODUCTION)
    await crons.follow()
    crons.pass()
    const due = Math.floor(world.deps.clock.now() / MINUTE) * MINUTE
    assert.equal((await crons.lease()).length, 1)
    await deploy(world.call, siteWith(EACH_MINUTE), PRODUCTION)
    // A sweep that began before the time, or whose clock is behind.
    await runTimer(world.deps, 'cron-jobs', due - 1)
    assert.deepEqual(await crons.lease(1), [])
    crons.pass()
    assert.equal((await crons.lease()).length, 1, 'the next time does')
    await crons.close()
  },
  SETTINGS,
)

onBothEngines(
  'runs that were claimed are returned, also where the store fails at a later one',
  async (world) => {
    const crons = await openCrons(world)
    await deploy(world.call, siteWith(EACH_MINUTE, { path: '/b', schedule: '* * * * *' }), PRODUCTION)
    await crons.follow()
    crons.pass()
    const { deps } = world
    let claims = 0
    const write: typeof deps.db.write = async (work, ...more) => {
      if (++claims > 1) throw new Error('the store is unavailable')
      return deps.db.write(work, ...more)
    }
    const first = await leaseRuns({ ...deps, db: { ...deps.db, write } }, {})
    assert.equal(first.length, 1)
    await assert.rejects(leaseRuns({ ...deps, db: { ...deps.db, write } }, {}), /is unavailable/)
    const paths = [...first, ...(await crons.lease())].map(({ path }) => path)
    assert.deepEqual(paths.sort(), ['/api/job', '/b'])
    await crons.close()
  },
  SETTINGS,
)

onBothEngines(
  'a run that cannot be prepared stays due where the store is unavailable, and is reported once otherwise (logs an error)',
  async (world) => {
    const crons = await openCrons(world)
    await deploy(world.call, siteWith(EACH_MINUTE), PRODUCTION)
    await crons.follow()
    crons.pass()
    const { deps } = world
    const write: typeof deps.db.write = (work, owner) => deps.db.write((tx) => work(withoutDeployments(tx)), owner)
    const db: typeof deps.db = {
      ...deps.db,
      read: withoutDeployments(deps.db.read),
      write,
      refusalOf: () => 'unavailable',
    }
    await assert.rejects(leaseRuns({ ...deps, db }, {}), /is unavailable/)
    assert.deepEqual((await crons.listed()).runs, [])
    assert.equal((await crons.lease()).length, 1)
    await tamper(world, 'frozen_env', { variables_json: '[' })
    crons.pass()
    for (let round = 0; round < 2; round++) assert.deepEqual(await crons.lease(), [])
    const [failed, ...before] = (await crons.listed()).runs
    assert.match(failed.fault, /could not be prepared/)
    assert.deepEqual([failed.endedAt === null, before.length], [false, 1])
    await crons.close()
  },
  SETTINGS,
)

/** Fails where deployments are read. */
function withoutDeployments(tx: Queries): Queries {
  return tx.withPlugin({
    transformQuery({ node }) {
      if (JSON.stringify(node).includes('"name":"deployment"')) throw new Error('the store is unavailable')
      return node
    },
    transformResult: async ({ result }) => result,
  })
}

onBothEngines(
  'an output with a wrong schedule is refused by name',
  async (world) => {
    const contents = siteWith({ path: '/a', schedule: '* * * * MON' }, { path: '/b', schedule: '0 0 30 2 *' })
    await seedProject(world, 'web')
    await uploadAll(world.call, contents)
    const refused = await create(world.call, contents)
    assert.equal(refused.status, 400)
    assert.match(refused.body.error.message, /crons\[0\]\.schedule.*five fields/s)
    assert.match(refused.body.error.message, /crons\[1\]\.schedule.*never comes/s)
  },
  SETTINGS,
)

test('schedules: accepted and refused', () => {
  for (const good of ['* * * * *', '*/5 0-6,22 * * *', '0 0 29 2 *', '15 8 * * 1-5', '0 0 1 1,7 *'])
    assert.equal(scheduleError(good), undefined, good)
  const wrong = [
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* * * * MON',
    '@daily',
    '0 0 1 * 1',
    '0 0 L * *',
    '10-5 * * * *',
    '*/0 * * * *',
    '',
  ]
  for (const bad of wrong) assert.notEqual(scheduleError(bad), undefined, bad)
  const noon = Date.UTC(2026, 2, 28, 12)
  assert.deepEqual(
    nextTimes('0 12 * * *', noon, 2),
    [noon + 24 * 60 * MINUTE, noon + 48 * 60 * MINUTE],
    'UTC has no summer time',
  )
})
