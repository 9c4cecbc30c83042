/** Held deliveries are sent in the order of their events, also where an older one is held later than a newer one. */
import assert from 'node:assert/strict'
import { dueQueues, holdDelivery, lease, releaseHeld } from '../../../src/integrations/deliveries/queue.ts'
import { seedProject } from '../../support/projects.ts'
import { LOCAL, receiver } from '../../support/servers/receiver.ts'
import { addRows, setDue } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { consentAndInstall } from '../../support/worlds/installation-rows.ts'
import { seedIntegration } from '../../support/worlds/integration-world.ts'

/** When each delivery is due, oldest first; null: it is held. */
async function due({ deps }: World): Promise<(number | null)[]> {
  const rows = await deps.db.read
    .selectFrom('delivery')
    .select('due_at')
    .where('created_stamp', '>', 2)
    .orderBy('created_stamp')
    .execute()
  return rows.map((row) => row.due_at)
}

onBothEngines(
  'a held delivery waits while an older one of its endpoint is in flight, because that one may be held too',
  async (world, t) => {
    const { deps, credentials } = world
    const hook = await receiver(t)
    const app = await seedIntegration(world, {
      slug: 'helper',
      scopes: ['read-write:project'],
      webhookUrl: hook.url,
    })
    const { id } = app
    const integration = await deps.db.read
      .selectFrom('integration')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const account = { id: credentials.teamId, kind: 'team' as const }
    await consentAndInstall(world, integration, { userId: credentials.userId, account })
    for (const name of ['older', 'newer']) await seedProject(world, name, `?teamId=${credentials.teamId}`)
    const now = deps.clock.now()
    const [queue] = (await dueQueues(deps.db.read, now)).due
    const leased = await lease(deps, new Map([[queue!, 4]]), now)
    const [older, newer] = leased.sort((one, other) => one.created_stamp - other.created_stamp)
    await holdDelivery(deps, newer!, now)
    await releaseHeld(deps, now)
    assert.deepEqual(await due(world), [older!.due_at, null], 'the older one may be about to be held')
    await holdDelivery(deps, older!, now)
    // Deliveries of other accounts and endpoints delay nothing, though they are older and due.
    await addRows(world, 'delivery', [
      { ...older!, due_at: now, id: 'dlv_account', account_id: 'team_other', created_stamp: 1 },
      { ...older!, due_at: now, id: 'dlv_endpoint', endpoint_id: 'hook_other', created_stamp: 2 },
    ])
    await releaseHeld(deps, now)
    assert.deepEqual(await due(world), [now, null])
    // A delivery that failed and is attempted again in minutes delays no other, and neither does a newer one that is due.
    const later = now + 5 * 60_000
    await setDue(world, older!.id, later)
    const newest = { ...older!, due_at: now, id: 'dlv_newest', created_stamp: newer!.created_stamp + 1 }
    await addRows(world, 'delivery', [newest])
    await releaseHeld(deps, now)
    assert.deepEqual(await due(world), [later, now, now])
  },
  LOCAL,
)
