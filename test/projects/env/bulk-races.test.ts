/** A write of a thousand variables is done also while another account writes all the time, here or on another instance. docs/scaling.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { readConfig } from '../../../src/config.ts'
import { createRetries, type RetryTransaction } from '../../../src/platform/db/postgres/retries.ts'
import { openService } from '../../../src/service.ts'
import { MIGRATED } from '../../support/postgres.ts'
import { type Call, callerOf, newDatabase, onBothEngines, openWorld, type World } from '../../support/world.ts'

/** Losses after which a write runs alone. */
const MAX_LOST = 3
const PATH = '/v10/projects/web/env?upsert=true'

const variables = (said: string) =>
  Array.from({ length: 1000 }, (_, at) => ({ key: `KEY_${at}`, value: said, type: 'plain', target: ['production'] }))

async function lostRaces({ operator }: World): Promise<number> {
  return Number(/^berth_races_lost_total (\d+)$/m.exec((await operator('GET', '/metrics')).text)![1])
}

/** Upserts a thousand variables several times while `other` writes one after another. */
async function upsertBeside(world: World, other: Call): Promise<void> {
  for (const call of [world.call, other])
    assert.equal((await call('POST', '/v10/projects', { name: 'web' })).status, 200)
  let over = false
  const statuses: number[] = []
  const writing = (async () => {
    for (let n = 0; !over; n++) {
      const [variable] = variables(`v${n}`)
      statuses.push((await other.try('POST', PATH, variable)).status)
    }
  })()
  for (const said of ['first', 'second', 'third', 'fourth']) {
    const before = await lostRaces(world)
    assert.equal((await world.call('POST', PATH, variables(said))).status, 201, said)
    const lost = (await lostRaces(world)) - before
    assert.ok(lost <= MAX_LOST, `${lost} races lost`)
  }
  over = true
  await writing
  assert.ok(statuses.length >= 3, `${statuses.length} writes of the other account`)
  assert.deepEqual(new Set(statuses), new Set([201]))
}

onBothEngines(
  'an upsert of a thousand variables is done while another account writes without a pause',
  async (world) => {
    await upsertBeside(world, (await world.user('other')).call)
  },
)

test('an upsert of a thousand variables is done while another account writes on another instance', async (t) => {
  const settings = { DATABASE_URL: await newDatabase(MIGRATED) }
  const world = await openWorld('postgres', settings)
  t.after(() => world.close())
  const config = readConfig({ BERTH_DATA: world.folder, BERTH_TIMERS: 'off', BERTH_RATE_LIMITS: 'off', ...settings })
  const second = await openService(config, pino({ level: 'silent' }), (error) => assert.fail(String(error)))
  t.after(() => second.close())
  const other = await world.user('other')
  await upsertBeside(world, callerOf(second, other.token))
})

test('a transaction that lost three races runs alone: no other begins meanwhile, and those that wait go on afterwards', async () => {
  let lost = 0
  const untilWon = createRetries(() => void lost++)
  let [running, loserRuns, met] = [0, false, 0]
  const short = () =>
    untilWon('other', async () => {
      running++
      if (loserRuns) met++
      // It takes a while, as a transaction does.
      await sleep(2)
      running--
    })
  let over = false
  const others = Promise.all(
    Array.from({ length: 5 }, async () => {
      while (!over) await short()
    }),
  )
  const said: boolean[] = []
  const value = await untilWon('owner', async (alone) => {
    said.push(alone)
    if (!alone) throw Object.assign(new Error('lost'), { code: '40001' })
    loserRuns = true
    met += running
    // Long enough for others to begin, if they might.
    await sleep(50)
    loserRuns = false
    return 'done'
  })
  over = true
  await others
  assert.deepEqual([value, lost, said], ['done', 3, [false, false, false, true]])
  assert.equal(met, 0, 'concurrent runs of other accounts')
})

/** One of an owner that loses its first races, and then runs for so long as `end` lets it. */
function openLoser(races: RetryTransaction, owner: string, losses: number) {
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let attempts = 0
  const done = races(owner, async () => {
    if (++attempts <= losses) throw Object.assign(new Error('lost'), { code: '40001' })
    began.resolve()
    await end.promise
  })
  return { began: began.promise, end: end.resolve, done, attempts: () => attempts }
}

test('a retry waits for other retries of its account, but not for those of another account', async () => {
  const races = createRetries(() => {})
  const first = openLoser(races, 'one', 1)
  await first.began
  const [second, other] = [openLoser(races, 'one', 1), openLoser(races, 'another', 1)]
  await other.began
  // Long enough for the second one to begin, if it might.
  await sleep(200)
  assert.equal(second.attempts(), 1)
  first.end()
  await second.began
  for (const one of [second, other]) one.end()
  await Promise.all([first.done, second.done, other.done])
})

test('of many accounts that lost three races one runs alone at a time', async () => {
  const races = createRetries(() => {})
  let [running, most] = [0, 0]
  const lose = (owner: string) =>
    races(owner, async (alone) => {
      if (!alone) throw Object.assign(new Error('lost'), { code: '40001' })
      most = Math.max(most, ++running)
      // Long enough for others to begin, if they might.
      await sleep(20)
      running--
    })
  await Promise.all(Array.from({ length: 20 }, (_, at) => lose(`account ${at}`)))
  assert.equal(most, 1)
})
