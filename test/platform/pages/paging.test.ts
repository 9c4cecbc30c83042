/** Walking a list while the clock stops or is set, and while others write. docs/spec/decisions.md: Pagination. */
import assert from 'node:assert/strict'
import { onBothEngines, type World } from '../../support/world.ts'

/** Walks to the end, with a falling cursor, and gives every name seen. `between` runs between pages. */
async function walk(
  { call }: World,
  limit: number,
  key: 'until' | 'from',
  between = async () => {},
): Promise<string[]> {
  const seen: string[] = []
  for (let cursor: number | null = null; ; ) {
    const from: string = cursor === null ? '' : `&${key}=${cursor}`
    const { body } = await call('GET', `/v9/projects?limit=${limit}${from}`)
    seen.push(...body.projects.map(({ name }) => name))
    const { next } = body.pagination
    if (next === null) return seen
    assert.ok(cursor === null || next < cursor, 'the cursor falls')
    cursor = next
    await between()
  }
}

/** In batches: a request that waits two seconds for a connection gets 503. */
async function make({ call }: World, count: number, prefix = 'p'): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => `${prefix}${at}`)
  while (names.length > 0) {
    const answers = await Promise.all(names.splice(0, 50).map((name) => call.try('POST', '/v10/projects', { name })))
    for (const answer of answers) assert.equal(answer.status, 200, answer.text)
  }
}

onBothEngines('500 projects of one millisecond page to the end once each, with a falling cursor', async (world, t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_900_000_000_000 })
  await make(world, 500)
  const { projects } = (await world.call('GET', '/v9/projects?limit=100')).body
  assert.ok(projects.every((project: { updatedAt: number }) => project.updatedAt === 1_900_000_000_000))
  for (const key of ['until', 'from'] as const) {
    const seen = await walk(world, 37, key)
    assert.deepEqual([seen.length, new Set(seen).size], [500, 500])
  }
  t.mock.timers.reset()
})

onBothEngines('a walk sees every unchanged project exactly once, while others change, come and go', async (world) => {
  await make(world, 60, 'still')
  await make(world, 20, 'busy')
  await make(world, 20, 'gone')
  let step = 0
  const seen = await walk(world, 7, 'until', async () => {
    const at = step++
    const answers = await Promise.all([
      world.call.try('PATCH', `/v9/projects/busy${at % 20}`, { devCommand: `${at}` }),
      world.call.try('DELETE', `/v9/projects/gone${at % 20}`),
      world.call.try('POST', '/v10/projects', { name: `new${at}` }),
    ])
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [200, 204, 200],
    )
  })
  const still = seen.filter((name) => name.startsWith('still'))
  assert.deepEqual([still.length, new Set(still).size], [60, 60])
  assert.equal(new Set(seen).size, seen.length, 'nothing comes twice')
})

onBothEngines('a clock that is set back and forth loses no project and refuses no write', async (world) => {
  const { clock } = world.deps
  const start = 1_900_000_000_000
  for (const [at, moment] of [
    start,
    start - 5000,
    start - 3_600_000,
    start,
    start - 1,
    start + 86_400_000,
    start,
  ].entries()) {
    clock.set(moment)
    await make(world, 40, `t${at}-`)
    const seen = await walk(world, 33, 'until')
    assert.deepEqual([seen.length, new Set(seen).size], [40 * (at + 1), 40 * (at + 1)])
  }
})

onBothEngines('a clock that lives the same crowded millisecond twice refuses no write', async (world, t) => {
  await make(world, 3)
  const update = async () => {
    const answer = await world.call('PATCH', '/v9/projects/p0', { devCommand: 'run' })
    assert.equal(answer.status, 200, answer.text)
  }
  for (const now of [1_900_000_000_000, 1_900_000_000_000 - 60_000, 1_900_000_000_000]) {
    t.mock.timers.enable({ apis: ['Date'], now })
    for (let n = 0; n < 5; n++) await update()
    await Promise.all(Array.from({ length: 3 }, update))
    t.mock.timers.reset()
  }
  assert.equal((await walk(world, 2, 'until')).length, 3)
})
