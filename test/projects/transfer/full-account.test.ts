/** A transfer into an account that has no room. docs/limits.md: Budgets. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'

async function codeOf(world: World, name: string): Promise<string> {
  const made = await world.call('POST', `/projects/${name}/transfer-request`, {})
  assert.equal(made.status, 200, made.text)
  return made.body.code
}

onBothEngines('a project is accepted only by an account with room for it, and otherwise stays', async (world) => {
  const taker = await world.user('taker')
  world.deps.config.budgets = { projects: 2 }
  for (const name of ['one', 'two']) await seedProject(world, name)
  assert.equal((await taker.call('POST', '/v10/projects', { name: 'own' })).status, 200)
  const take = async (name: string) =>
    taker.call.try('PUT', `/projects/transfer-request/${await codeOf(world, name)}`, {})
  const [first, second] = [await take('one'), await take('two')]
  assert.deepEqual([first.status, second.status], [202, 202], 'one is left for either of the two')
  await runTimer(world.deps, 'project-transfers', world.deps.clock.now())
  await runTimer(world.deps, 'project-transfers', world.deps.clock.now())
  const of = async (call: World['call']) => (await call('GET', '/v9/projects')).body.projects.length
  assert.deepEqual([await of(world.call), await of(taker.call)], [1, 2])
  const events = await world.deps.db.read
    .selectFrom('event')
    .select('payload_json')
    .where('type', '=', 'project.transfer.failed')
    .execute()
  assert.deepEqual(
    events.map(({ payload_json }) => JSON.parse(payload_json).reason),
    ['account_full', 'account_full'],
  )

  const left = (await world.call('GET', '/v9/projects')).body.projects[0]!.name
  const refused = await take(left)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'budget_used_up'])
})
