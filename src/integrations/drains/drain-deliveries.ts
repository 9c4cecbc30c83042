/** What was sent to a log drain, as whoever may see the drain sees it. The lines themselves are not kept. docs/webhooks.md: What was sent. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findDelivery, listWebhookDeliveries, replayDelivery } from '../deliveries/deliveries.ts'
import type { Delivery, DeliveryList, ListDeliveriesOfQuery } from '../webhooks/schema.ts'
import type { DrainRow } from './schema.ts'
import { findDrain } from './store.ts'

/** Lists the deliveries to a drain with their attempts, newest first, as those of a webhook are listed. */
export function listDrainDeliveries(
  ctx: Ctx,
  { id }: DrainRow,
  input: Input<Static<typeof ListDeliveriesOfQuery>>,
): Promise<Static<typeof DeliveryList>> {
  // Whoever knows of the drain may hear of all its projects (integrations/webhooks/rules.ts), and lines have no event that names one.
  const { caller } = ctx
  return listWebhookDeliveries({ ...ctx, caller: { ...caller, projectIds: null } }, { id }, input)
}

/** Finds a delivery to a drain that the caller may know of. Refuses: not_found 404. */
export async function findDrainDelivery(ctx: Ctx, params: Params) {
  const drain = await findDrain(ctx, params)
  const row = await findDelivery({ ...ctx, emit: neverTold }, { id: params.deliveryId ?? '' })
  if (row.endpoint_id !== drain.id) refuse('not_found', `There is no delivery "${params.deliveryId?.slice(0, 100)}".`)
  return row
}

/** Sends now what waits for its next attempt. Refuses: not_replayable 409. */
export function retryDrainDelivery(ctx: Ctx, row: Awaited<ReturnType<typeof findDrainDelivery>>): Promise<Delivery> {
  return replayDelivery({ ...ctx, emit: neverTold }, row)
}

/** Sending again changes nothing that anybody is told of. */
function neverTold(): never {
  throw new Error('a delivery tells no event')
}
