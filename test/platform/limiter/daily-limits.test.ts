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
