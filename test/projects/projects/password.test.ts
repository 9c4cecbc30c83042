/** The password of a protection: stored as a hash and never returned. docs/spec/decisions.md: Projects. */
import assert from 'node:assert/strict'
import { passwordMatches } from '../../../src/platform/adapters/argon2.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

async function protectable(world: World) {
  await seedProject(world, 'web')
  await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
  return {
    set: (passwordProtection: unknown, more = {}) =>
      world.call.try('PATCH', '/v9/projects/web', { passwordProtection, ...more }),
    hash: async () =>
      (await world.deps.db.read.selectFrom('project').selectAll().executeTakeFirstOrThrow()).password_hash,
  }
}

onBothEngines('a password is stored as argon2id and is in no answer, list, event, audit line or log', async (world) => {
  const { set, hash } = await protectable(world)
  const password = 'correct horse é漢🙂'
  const first = await set({ deploymentType: 'preview', password })
  const answers = [
    first,
    await world.call.try('GET', '/v9/projects/web'),
    await world.call.try('GET', '/v9/projects'),
    await world.call.try('PATCH', '/v9/projects/web', { name: 'site' }),
    await world.call.try('POST', '/v1/projects/site/pause'),
    await set({ deploymentType: 'preview', password: `${password}${'x'.repeat(72)}` }),
  ]
  assert.deepEqual(first.body.passwordProtection, { deploymentType: 'preview' })
  const kept = (await hash()) ?? ''
  assert.match(kept, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.equal(await passwordMatches(password, kept), true)
  assert.equal(await passwordMatches(`${password} `, kept), false)
  const tables = ['project', 'event', 'audit', 'account', 'token', 'fact'] as const
  const rows = await Promise.all(tables.map((table) => world.deps.db.read.selectFrom(table).selectAll().execute()))
  const everything = [...answers.map((answer) => answer.text), JSON.stringify(rows), world.logged()].join('\n')
  assert.equal(everything.includes('correct horse'), false)
  for (const { text } of answers) assert.equal(text.includes('argon2') || text.includes(kept), false)
})

onBothEngines(
  'a new password replaces the old, none keeps it, null ends it, and there is no protection without one',
  async (world) => {
    const { set, hash } = await protectable(world)
    for (const without of [
      { deploymentType: 'all' },
      { deploymentType: 'all', password: null },
      { deploymentType: 'all', password: '' },
    ]) {
      const answer = await set(without)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'])
      assert.match(answer.body.error.message, /`passwordProtection\.password`/)
    }
    assert.equal((await set({ deploymentType: 'all', password: 'one' })).status, 200)
    assert.equal(await passwordMatches('one', (await hash()) ?? ''), true)
    assert.deepEqual((await set({ deploymentType: 'preview' })).body.passwordProtection, { deploymentType: 'preview' })
    assert.equal(await passwordMatches('one', (await hash()) ?? ''), true)
    assert.equal((await set({ deploymentType: 'preview', password: 'two' })).status, 200)
    assert.equal(await passwordMatches('two', (await hash()) ?? ''), true)
    assert.equal((await set(null)).body.passwordProtection, null)
    assert.equal(await hash(), null)
    assert.equal((await set({ deploymentType: 'all', password: 'x'.repeat(72) })).status, 200)
    for (const wrong of [
      { deploymentType: 'all', password: 'x'.repeat(73) },
      { password: 'a' },
      { deploymentType: 'production', password: 'a' },
      'a',
      [],
      true,
    ]) {
      const answer = await set(wrong)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], JSON.stringify(wrong))
      assert.equal(answer.text.includes('xxx'), false)
    }
  },
)

onBothEngines(
  'protections that are set and removed at the same time never leave one without a password',
  async (world) => {
    const { set, hash } = await protectable(world)
    for (let round = 0; round < 8; round++) {
      assert.equal((await set({ deploymentType: 'all', password: 'one' })).status, 200)
      const answers = await Promise.all([
        set(null),
        set({ deploymentType: 'preview' }),
        set({ deploymentType: 'all' }),
        set(null),
      ])
      for (const answer of answers) assert.ok([200, 400].includes(answer.status), answer.text)
      const { passwordProtection } = (await world.call('GET', '/v9/projects/web')).body
      assert.equal(passwordProtection === null, (await hash()) === null, `round ${round}`)
    }
  },
)
