/** Cron jobs of one owner do not keep those of others waiting. docs/functions.md: Cron jobs. */
import assert from 'node:assert/strict'
import { CRONS_OF_OWNER, type CronLease, type CronRun } from '../../../src/delivery/protocol/cron-channel.ts'
import { runTimer } from '../../../src/timers.ts'
import { type Call, onBothEngines } from '../../support/world.ts'
import { openInstance, SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { deploy, SUFFIX } from '../deploys/deploying.ts'

const SETTINGS = { ...SUFFIX, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' }
const PRODUCTION = { target: 'production' }
/** Longer than the test takes, so that no job is due twice. */
const HOUR = 3_600_000

function jobs(count: number) {
  const crons = Array.from({ length: count }, (_, at) => ({ path: `/api/${at}`, schedule: '0 * * * *' }))
  return {
    '.vercel/output/config.json': JSON.stringify({ version: 3, crons }),
    '.vercel/output/static/index.html': '<h1>Hello</h1>',
  }
}

async function deployFor(call: Call, name: string, count: number): Promise<string> {
  await call('POST', '/v10/projects', { name })
  return (await deploy(call, jobs(count), { ...PRODUCTION, name })).url
}

onBothEngines(
  'an owner with hundreds of slow jobs keeps nothing of others waiting',
  async (world) => {
    const edge = await openInstance(world)
    const { clock } = world.deps
    const hog = await world.user('hog')
    const other = await world.user('other')
    for (const name of ['one', 'two', 'three']) await deployFor(hog.call, name, 100)
    await runTimer(world.deps, 'cron-jobs', clock.now())
    const own = await deployFor(other.call, 'small', 2)
    await runTimer(world.deps, 'cron-jobs', clock.now())
    clock.set(Math.ceil((clock.now() + 1) / HOUR) * HOUR)
    const lease = async (asked: CronLease) => {
      const headers = { authorization: `Bearer ${SITES_TOKEN}` }
      const body = JSON.stringify(asked)
      const answer = await fetch(`${edge.origin}/sites/v1/crons/lease`, { method: 'POST', headers, body })
      return ((await answer.json()) as { runs: CronRun[] }).runs
    }
    const first = await lease({})
    const ofHog = first.filter(({ owner }) => owner === hog.id)
    assert.equal(ofHog.length, CRONS_OF_OWNER)
    assert.deepEqual(
      first.filter(({ owner }) => owner === other.id).map(({ host, path }) => [host, path]),
      [
        [own.split(':')[0], '/api/0'],
        [own.split(':')[0], '/api/1'],
      ],
    )
    assert.deepEqual(await lease({ running: { [hog.id]: CRONS_OF_OWNER } }), [])
    assert.equal((await lease({ running: { [hog.id]: CRONS_OF_OWNER - 1 } })).length, 1, 'one has ended')
    await edge.close()
  },
  SETTINGS,
)
