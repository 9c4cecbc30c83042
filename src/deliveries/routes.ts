/** Routes for the log of deliveries. The operator sees all deliveries, others those of their webhooks. */
import { operatorRoute, route } from '../http/route.ts'
import { Delivery, DeliveryList, ListDeliveriesOfQuery, ListDeliveriesQuery } from '../webhooks/schema.ts'
import { findSentTo } from '../webhooks/webhooks.ts'
import {
  findDelivery,
  findDeliveryOf,
  getDelivery,
  listDeliveries,
  listDeliveriesOf,
  replayDelivery,
  replayDeliveryOf,
} from './deliveries.ts'

const tag = 'webhooks'

export const deliveryRoutes = [
  route({
    method: 'GET',
    path: '/v1/webhooks/:id/deliveries',
    operationId: 'getWebhookDeliveries',
    summary: 'List the deliveries to a webhook, with every attempt',
    tag,
    needs: ['webhook:read'],
    query: ListDeliveriesOfQuery,
    load: findSentTo,
    run: listDeliveriesOf,
    refuses: ['not_found'],
    list: { rows: 100, rowBytes: 32 * 1024 },
    status: 200,
    reply: DeliveryList,
  }),
  route({
    method: 'GET',
    path: '/v1/webhooks/:id/deliveries/:deliveryId',
    operationId: 'getWebhookDelivery',
    summary: 'Get a delivery with every attempt',
    tag,
    needs: ['webhook:read'],
    load: findDeliveryOf,
    run: getDelivery,
    refuses: ['not_found'],
    status: 200,
    reply: Delivery,
  }),
  route({
    method: 'POST',
    path: '/v1/webhooks/:id/deliveries/:deliveryId/replay',
    operationId: 'replayWebhookDelivery',
    summary: 'Send a delivery again, or send one now that waits',
    tag,
    needs: ['webhook:write'],
    load: findDeliveryOf,
    run: replayDeliveryOf,
    refuses: ['not_found', 'missing_permission', 'not_replayable'],
    status: 202,
    reply: Delivery,
  }),
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/webhook-deliveries',
    operationId: 'operatorListDeliveries',
    summary: 'List the deliveries to webhooks and log drains, with every attempt',
    tag: 'operator',
    query: ListDeliveriesQuery,
    run: listDeliveries,
    list: { rows: 100, rowBytes: 32 * 1024 },
    status: 200,
    reply: DeliveryList,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/webhook-deliveries/:id/replay',
    operationId: 'operatorReplayDelivery',
    summary: 'Send a delivery again',
    tag: 'operator',
    load: findDelivery,
    run: replayDelivery,
    refuses: ['not_found', 'not_replayable'],
    status: 202,
    reply: Delivery,
  }),
]
