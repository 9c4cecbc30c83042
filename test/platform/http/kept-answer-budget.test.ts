/** Answers kept for `Idempotency-Key` have a budget of their account. docs/limits.md: Idempotency keys. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { seedProject } from '../../support/projects.ts'
import { type ApiResponse, ENGINES, openWorld, type World } from '../../support/world.ts'

const key = (name: string) => ({ 'idempotency-key': name })
const isReplay = ({ headers }: ApiResponse) => headers['idempotency-replayed'] === 'true'

for (const engine of ENGINES) {
  const open = async (t: TestContext, limits: object): Promise<World> => {
    const world = await openWorld(engine, { BERTH_RATE_LIMITS: JSON.stringify(limits) })
    t.after(() => world.close())
    return world
  }

  test(`at the end of its kept answers an account writes without a key, and none is done twice [${engine}]`, async (t) => {
    const world = await open(t, { 'kept-answers': 3 })
    const make = (call: typeof world.call, n: number) =>
      call.try('POST', '/v10/projects', { name: `p${n}` }, key(`k${n}`))
    const made = [await make(world.call, 1), await make(world.call, 2), await make(world.call, 3)]
    assert.deepEqual(
      made.map(({ status }) => status),
      [200, 200, 200],
    )

    const refused = await make(world.call, 4)
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'idempotency_keys_used_up'])
    assert.match(refused.body.error.message, /3 responses .* without the header/)
    assert.equal(refused.headers['retry-after'], undefined, 'SDKs would wait for hours')
    assert.equal((await world.call.try('GET', '/v9/projects/p4')).status, 404, 'a refused request changes nothing')

    for (const [at, first] of made.entries()) {
      const again = await make(world.call, at + 1)
      assert.deepEqual([again.status, again.text, isReplay(again)], [200, first.text, true])
    }
    assert.equal((await world.call('POST', '/v10/projects', { name: 'p4' })).status, 200, 'without a key')
    const another = await world.user('another')
    assert.equal((await make(another.call, 1)).status, 200, 'another account does not feel it')
  })

  test(`many at once keep as many answers as there is room for, and no more [${engine}]`, async (t) => {
    const world = await open(t, { 'kept-answers': 10 })
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, n) => world.call.try('POST', '/v10/projects', { name: `p${n}` }, key(`k${n}`))),
    )
    const statuses = all.map(({ status }) => status)
    assert.deepEqual([...new Set(statuses)].sort(), [200, 409])
    const made = statuses.filter((status) => status === 200).length
    assert.ok(made > 0 && made <= 10, `${made} made`)
    const { length } = await world.deps.db.read.selectFrom('kept_answer').select('id').execute()
    assert.equal(length, made)
  })

  test(`an answer is weighed as it is stored: few bytes sent keep few bytes [${engine}]`, async (t) => {
    const most = 256 * 1024
    const world = await open(t, { 'kept-answer-bytes': most })
    await seedProject(world, 'web')
    const large = { trustedSources: { text: 'x'.repeat(12_000) } }
    assert.equal((await world.call('PATCH', '/v9/projects/web', large)).status, 200)
    let refused: ApiResponse | undefined
    for (let n = 0; n < 200 && refused === undefined; n++) {
      const answer = await world.call.try('PATCH', '/v9/projects/web', { framework: 'nextjs' }, key(`k${n}`))
      if (answer.status !== 200) refused = answer
    }
    assert.equal(refused?.body.error.code, 'idempotency_keys_used_up')
    const rows = await world.deps.db.read.selectFrom('kept_answer').select('sealed_body').execute()
    const bytes = rows.reduce((sum, { sealed_body }) => sum + (sealed_body?.length ?? 0), 0)
    assert.ok(bytes > most / 2 && bytes <= most, `${bytes} bytes`)
  })
}
