/** Limits of a day bound what is kept of an account: at their end a write changes nothing, and others do not notice. docs/limits.md: Budgets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSession } from '../../../src/accounts/sign-in/sessions.ts'
import { ENGINES, onBothEngines, openWorld } from '../../support/world.ts'

const AMOUNTS = { 'audit-lines': 3, 'event-bytes': 400 } as const

for (const engine of ENGINES) {
  for (const [name, total] of Object.entries(AMOUNTS))
    test(`the end of ${name}: the write that is too much changes nothing, and others write on [${engine}]`, async (t) => {
      const world = await openWorld(engine, { BERTH_RATE_LIMITS: JSON.stringify({ [name]: total }) })
      t.after(() => world.close())
      const other = await world.user('other')
      const make = (n: number) => world.call.try('POST', '/v10/projects', { name: `p${n}` })
      let made = 0
      let answer = await make(made)
      for (; answer.status === 200 && made < 10; answer = await make(made)) made++
      assert.deepEqual([answer.status, answer.body.error.name], [429, name])
      assert.ok(made > 0 && made <= 3, `${made} made`)
      const { projects } = (await world.call('GET', '/v9/projects')).body
      assert.equal(projects.length, made)
      const of = async (table: 'event' | 'audit') =>
        (
          await world.deps.db.read
            .selectFrom(table)
            .select('stamp')
            .where('account_id', '=', world.credentials.userId)
            .execute()
        ).length
      assert.deepEqual([await of('event'), await of('audit')], [made, made])
      assert.equal((await other.call('POST', '/v10/projects', { name: 'p' })).status, 200)
    })

  test(`the end of history-bytes: no version is written, deletions are, and others write on [${engine}]`, async (t) => {
    const total = 100_000
    const world = await openWorld(engine, { BERTH_RATE_LIMITS: JSON.stringify({ 'history-bytes': total }) })
    t.after(() => world.close())
    const other = await world.user('other')
    const create = (call: typeof world.call, key: string, length = 20_000) => {
      const variable = { key, value: 'x'.repeat(length), type: 'encrypted', target: 'production' }
      return call.try('POST', '/v10/projects/web/env', variable)
    }
    for (const { call } of [world, other]) await call('POST', '/v10/projects', { name: 'web' })
    const path = `/v9/projects/web/env/${(await create(world.call, 'A')).body.created.id}` as const
    const change = (n: number) => world.call.try('PATCH', path, { value: String(n).repeat(20_000) })
    let changes = 0
    let answer = await change(changes)
    for (; answer.status === 200 && changes < 9; answer = await change(changes)) changes++
    assert.deepEqual([answer.status, answer.body.error.name], [429, 'history-bytes'])
    assert.match(answer.body.error.message, /Too many bytes of versions/)
    assert.equal((await create(world.call, 'B')).body.error.name, 'history-bytes')
    assert.deepEqual([changes, (await world.call('GET', path)).body.version], [2, 3])
    const kept = await world.deps.db.read.selectFrom('env_history').selectAll().execute()
    const bytes = kept.reduce((sum, { sealed_value }) => sum + (sealed_value?.length ?? 0), 0)
    assert.ok(bytes > total / 2 && bytes <= total, `${bytes} bytes`)
    assert.equal((await create(other.call, 'A')).status, 201)
    // Nothing is left for the versions of a deletion, if they counted.
    let made = 0
    for (let length = 10_000; length > 0; length = Math.floor(length / 2))
      while ((await create(world.call, `KEY_${made}`, length)).status === 201) made++
    const ids = (await world.call('GET', '/v9/projects/web/env')).body.envs.map(({ id }: { id: string }) => id)
    assert.ok(ids.length > 3)
    assert.equal((await world.call('DELETE', '/v1/projects/web/env', { ids })).body.deleted, ids.length)
  })

  test(`a user sends a limited number of letters a day, to all recipients together [${engine}]`, async (t) => {
    const world = await openWorld(engine, { BERTH_RATE_LIMITS: '{"letters-sent": 3}' })
    t.after(() => world.close())
    const path = `/v1/teams/${world.credentials.teamId}/members` as const
    const statuses: number[] = []
    for (let n = 0; n < 5; n++)
      statuses.push((await world.call.try('POST', path, { email: `a${n}@example.com`, role: 'MEMBER' })).status)
    assert.deepEqual(statuses, [200, 200, 200, 429, 429])
    const letters = await world.deps.db.read.selectFrom('mail').select('id').execute()
    assert.equal(letters.length, 3)
  })
}

onBothEngines('a user has at most 100 sessions, and the oldest ends for a newer one', async (world) => {
  const { deps, credentials } = world
  const now = deps.clock.now()
  const begin = (userId: string, at: number) =>
    deps.db.write((db) => startSession({ db, deps, now: now + at, address: '127.0.0.1' }, userId))
  const other = await world.user('other')
  await begin(other.id, 0)
  for (let at = 0; at < 103; at++) await begin(credentials.userId, at)
  const sessions = await deps.db.read.selectFrom('session').select(['user_id', 'created_at']).execute()
  const mine = sessions.filter(({ user_id }) => user_id === credentials.userId).map(({ created_at }) => created_at)
  assert.deepEqual([mine.length, sessions.length], [100, 101])
  assert.deepEqual([Math.min(...mine), Math.max(...mine)], [now + 3, now + 102])
})
