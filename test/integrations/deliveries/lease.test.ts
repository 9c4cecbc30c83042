/** A delivery whose lease has ended belongs to another instance: its former owner changes nothing of it any more. docs/webhooks.md. */
import assert from 'node:assert/strict'
import {
  dropDelivery,
  dueQueues,
  holdDelivery,
  LEASE_MS,
  type LeasedDelivery,
  lease,
  releaseLease,
} from '../../../src/integrations/deliveries/queue.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, LOCAL, receiver, register } from '../../support/servers/receiver.ts'
import { onBothEngines, type World } from '../../support/world.ts'

/** Takes the one delivery that is due, as an instance does whose clock says `now`. */
async function take({ deps }: World, now: number): Promise<LeasedDelivery> {
  const { due } = await dueQueues(deps.db.read, now)
  const leased = await lease(deps, new Map(due.map((queue) => [queue, 1])), now)
  assert.equal(leased.length, 1)
  return leased[0]!
}

async function rowOf({ deps }: World): Promise<object> {
  return { ...(await deps.db.read.selectFrom('delivery').selectAll().executeTakeFirstOrThrow()) }
}

onBothEngines(
  'an answer that comes after the lease has ended is not noted, and does not disable the endpoint',
  async (world, t) => {
    const hook = await receiver(t)
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    hook.answer((response) => void held.then(() => response.writeHead(410).end()))
    const { id } = await register(world, hook.url, ['project.created'])
    await seedProject(world, 'web')
    const now = world.deps.clock.now()
    const late = deliver(world, now)
    await hook.until(1)
    await take(world, now + LEASE_MS)
    const taken = await rowOf(world)
    release()
    await late
    assert.deepEqual(await rowOf(world), taken)
    assert.deepEqual(await world.deps.db.read.selectFrom('delivery_attempt').selectAll().execute(), [])
    const endpoint = await world.deps.db.read
      .selectFrom('webhook')
      .select(['failing_since', 'disabled_at'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    assert.deepEqual({ ...endpoint }, { failing_since: null, disabled_at: null })
  },
  LOCAL,
)

onBothEngines(
  'the former owner of a lease neither releases the delivery, nor holds it, nor drops it',
  async (world) => {
    await register(world, 'http://127.0.0.1:9/hook', ['project.created'])
    await seedProject(world, 'web')
    const now = world.deps.clock.now()
    const lost = await take(world, now)
    const taken = await take(world, now + LEASE_MS)
    const kept = await rowOf(world)
    await releaseLease(world.deps, lost, now)
    await holdDelivery(world.deps, lost, now)
    await dropDelivery(world.deps, lost, now, false)
    assert.deepEqual(await rowOf(world), kept)
    await releaseLease(world.deps, taken, now)
    assert.deepEqual(await rowOf(world), { ...kept, due_at: now })
  },
  LOCAL,
)

onBothEngines(
  'a delivery that an instance with a clock ahead has in flight is not sent once more',
  async (world) => {
    const hook = await register(world, 'http://127.0.0.1:9/hook', ['project.created'])
    await seedProject(world, 'web')
    const { id } = await take(world, world.deps.clock.now() + LEASE_MS / 2)
    const again = await world.call.try('POST', `/v1/webhooks/${hook.id}/deliveries/${id}/replay`)
    assert.deepEqual([again.status, again.body.error.code], [409, 'conflict'])
  },
  LOCAL,
)
