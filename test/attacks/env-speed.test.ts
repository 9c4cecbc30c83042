/** What reading and writing variables costs: figures that are promised, measured in-process and printed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openWorld, type World } from '../support/world.ts'

const URL = '/v10/projects/full/env'
const MAX_LIST_MS = 40
const MAX_RATIO = 1.3

async function full(world: World, count: number): Promise<void> {
  for (const name of ['full', 'empty']) await world.call('POST', '/v10/projects', { name })
  const items = Array.from({ length: count }, (_, at) => {
    return { key: `KEY_${at}`, value: `value number ${at}`, type: 'encrypted', target: ['production', 'preview'] }
  })
  assert.equal((await world.call('POST', URL, items)).body.created.length, count)
}

const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1]!

async function time(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

test('1,000 variables are listed in plaintext in under 40 ms', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  await full(world, 1000)
  const took: number[] = []
  for (let round = 0; round < 40; round++) {
    took.push(
      await time(async () => {
        const answer = await world.app.inject({
          url: `${URL}?decrypt=true`,
          headers: { authorization: `Bearer ${world.credentials.token}` },
        })
        assert.equal(answer.statusCode, 200)
      }),
    )
  }
  t.diagnostic(`median ${median(took).toFixed(1)} ms, best ${Math.min(...took).toFixed(1)} ms`)
  const { envs } = (await world.call('GET', `${URL}?decrypt=true`)).body
  assert.deepEqual([envs.length, envs[0].value], [1000, 'value number 999'])
  // The best of many: a neighbor on this machine only ever makes it slower.
  assert.ok(Math.min(...took) < MAX_LIST_MS)
})

for (const engine of ['sqlite', 'postgres'] as const) {
  test(`creating into a project of 1,000 variables costs what it costs in an empty one [${engine}]`, async (t) => {
    const world = await openWorld(engine)
    t.after(() => world.close())
    await full(world, 940)
    const made = { full: [] as number[], empty: [] as number[] }
    for (let round = 0; round < 60; round++) {
      // In turns, so that whatever else the machine does meets both.
      for (const name of round % 2 ? (['full', 'empty'] as const) : (['empty', 'full'] as const)) {
        const body = { key: `NEW_${round}`, value: 'x', type: 'encrypted', target: ['production', 'preview'] }
        let status = 0
        made[name].push(
          await time(async () => {
            status = (await world.call.try('POST', `/v10/projects/${name}/env`, body)).status
          }),
        )
        assert.equal(status, 201)
        if (name === 'empty') {
          // Empty it again, so that it stays the empty one.
          const { envs } = (await world.call('GET', '/v9/projects/empty/env')).body
          await world.call('DELETE', `/v9/projects/empty/env/${envs[0].id}`)
        }
      }
    }
    const ratio = median(made.full) / median(made.empty)
    t.diagnostic(
      `median ${median(made.full).toFixed(2)} ms into 1,000, ${median(made.empty).toFixed(2)} ms into none: ${ratio.toFixed(2)}`,
    )
    assert.ok(ratio <= MAX_RATIO, `${ratio.toFixed(2)} times`)
  })
}
