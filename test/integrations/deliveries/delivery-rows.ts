/** Many deliveries that wait. */

import { addRows } from '../../support/states.ts'
import type { World } from '../../support/world.ts'

/** Writes `count` deliveries of an event that exists, as fan-out would, each due since `dueAt`. */
export async function pile(
  world: World,
  count: number,
  said: { accountId: string; endpointIds: string[]; dueAt?: number },
) {
  const { dueAt = Date.now(), accountId, endpointIds } = said
  const { stamp } = await world.deps.db.read
    .selectFrom('event')
    .select('stamp')
    .where('type', '=', 'project.created')
    .limit(1)
    .executeTakeFirstOrThrow()
  const rows = Array.from({ length: count }, (_, at) => ({
    id: `dlv_${accountId.slice(-6)}${endpointIds[0]!.slice(-6)}${at}`,
    account_id: accountId,
    endpoint_id: endpointIds[at % endpointIds.length]!,
    event_stamp: stamp,
    type: 'project.created',
    attempts: 0,
    due_at: dueAt,
    status: 'pending' as const,
    created_stamp: world.deps.clock.stamp(),
  }))
  await addRows(world, 'delivery', rows)
}

export const count = async (world: World, endpointId: string, status: 'pending' | 'dropped') =>
  (
    await world.deps.db.read
      .selectFrom('delivery')
      .select('id')
      .where('endpoint_id', '=', endpointId)
      .where('status', '=', status)
      .execute()
  ).length
