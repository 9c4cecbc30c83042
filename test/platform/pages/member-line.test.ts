/** Forms of a member cannot keep an owner from removing them, and nothing of them is committed behind the removal. docs/decisions/0087. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { openLockHolder } from '../../support/stores/advisory-lock.ts'
import { openWorld } from '../../support/world.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'

/** The line of a user, as src/platform/access/user-write-lock.ts has it. */
const LINE = '0x62657270, hashtext($1) & 255'

test('a consent waits for the removal of its member, and is then refused', { timeout: 300_000 }, async (t) => {
  const world = await openWorld('postgres')
  t.after(() => world.close())
  const { teamId, userId } = world.credentials
  const scope = ['read:project']
  const { slug } = await seedIntegration(world, { scopes: scope })
  const page = `/integrations/${slug}/new?account=${teamId}`
  const client = await openSignedInClient(world)
  await client.get(page)
  const holder = await openLockHolder(t, world)
  await holder.hold(LINE, userId, '')
  const approving = client.post(page, { decision: 'approve', selection: 'all', scope })
  await holder.untilWaiting(approving)
  await holder.run('delete from member where team_id = $1 and user_id = $2', [teamId, userId])
  await holder.commit()
  assert.equal((await approving).status, 404)
  assert.deepEqual(await world.deps.db.read.selectFrom('configuration').select('id').execute(), [])
})
