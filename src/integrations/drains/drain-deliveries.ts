/** Deliveries of a log drain, without the lines, for those who can see the drain. docs/webhooks.md: Delivery log. */
import type { Static } from 'typebox'
import type { Ctx, Input, Params } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findDelivery, listWebhookDeliveries } from '../deliveries/deliveries.ts'
import type { DeliveryList, ListDeliveriesOfQuery } from '../webhooks/schema.ts'
import type { DrainRow } from './schema.ts'
import { findDrain } from './store.ts'

/** Lists the deliveries of a drain with their attempts, newest first, as for a webhook. */
export function listDrainDeliveries(
  ctx: Ctx,
  { id }: DrainRow,
  input: Input<Static<typeof ListDeliveriesOfQuery>>,
): Promise<Static<typeof DeliveryList>> {
  // Callers who see a drain may see all its projects (integrations/webhooks/rules.ts), and lines have no event that names one.
  const { caller } = ctx
  return listWebhookDeliveries({ ...ctx, caller: { ...caller, projectIds: null } }, { id }, input)
}

/** Finds a delivery to a drain that is visible to the caller. Refuses: not_found 404. */
export async function findDrainDelivery(ctx: Ctx, params: Params) {
  const drain = await findDrain(ctx, params)
  const row = await findDelivery(ctx, { id: params.deliveryId ?? '' })
  if (row.endpoint_id !== drain.id) refuse('not_found', `Delivery "${params.deliveryId?.slice(0, 100)}" not found.`)
  return row
}
