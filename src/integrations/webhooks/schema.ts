/** Bodies and replies of webhooks and deliveries. docs/spec/wire.md 3.8 and 6. */
import type { Static } from 'typebox'
import { EVENT_NAMES } from '../../events.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { eventNamesForClient } from '../../platform/outbox/event-names.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'

const Id = Type.String({ minLength: 1, maxLength: 100 })
export const Url = Type.String({ minLength: 1, maxLength: 2048, description: 'https:// or http://' })
export const ProjectIds = Type.Array(Id, { minItems: 1, maxItems: 50 })
/** The operation checks the names, and its error lists all invalid ones. */
const Events = Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, maxItems: 100 })

export const NewWebhook = Type.Object({ url: Url, events: Events, projectIds: Type.Optional(Nullable(ProjectIds)) })
export type NewWebhook = Static<typeof NewWebhook>
export const PatchWebhook = Type.Object({
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  projectIds: Type.Optional(Nullable(ProjectIds)),
  enabled: Type.Optional(Type.Literal(true, { description: 'enables one that was disabled' })),
})
export type PatchWebhook = Static<typeof PatchWebhook>
export const ListWebhooksQuery = Type.Object({ projectId: Type.Optional(Id) })

/** Present while the endpoint is on hold: nothing is sent until an OWNER becomes its owner. Deleted 30 days after `heldAt`, unless its user is suspended. */
export const HeldFields = {
  heldAt: Type.Optional(Timestamp),
  heldReason: Type.Optional(
    OneOf('original-owner-left-the-team', 'original-owner-role-downgraded', 'disabled-by-admin'),
  ),
}

const fields = {
  id: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  ownerId: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  projectIds: Type.Optional(Type.Array(Type.String())),
  configurationId: Type.Optional(Type.String({ description: 'the installation that registered it' })),
  failingSince: Type.Optional(Timestamp),
  disabledAt: Type.Optional(Timestamp),
  disabledReason: Type.Optional(OneOf('gone', 'failing', 'overflow')),
  ...HeldFields,
}
export const Webhook = Type.Object(fields, { title: 'Webhook' })
export type Webhook = Static<typeof Webhook>
export const WebhookList = Type.Array(Webhook)
export const CreatedWebhook = Type.Object({ ...fields, secret: Type.String({ description: 'shown once' }) })

/** Formats a webhook. `agent`: the caller's `User-Agent`. */
export function showWebhook(row: Row<'webhook'>, agent: string | undefined): Webhook {
  return {
    id: row.id,
    url: row.url,
    events: eventNamesForClient(agent, row.events_json === null ? EVENT_NAMES : JSON.parse(row.events_json)),
    ownerId: row.account_id,
    createdAt: stampToMs(row.created_stamp),
    updatedAt: row.updated_at,
    ...(row.project_ids_json !== null && { projectIds: JSON.parse(row.project_ids_json) }),
    ...(row.configuration_id !== null && { configurationId: row.configuration_id }),
    ...(row.failing_since !== null && { failingSince: row.failing_since }),
    ...(row.disabled_at !== null && { disabledAt: row.disabled_at }),
    ...(row.disabled_reason !== null && { disabledReason: row.disabled_reason }),
    ...showHeld(row),
  }
}

/** Returns since when and why an endpoint is on hold; empty otherwise. */
export function showHeld({ held_at, held_reason }: Pick<Row<'webhook'>, 'held_at' | 'held_reason'>) {
  return { ...(held_at !== null && { heldAt: held_at }), ...(held_reason !== null && { heldReason: held_reason }) }
}

const STATUSES = ['pending', 'held', 'delivered', 'failed', 'dropped'] as const
const LoggedQuery = {
  ...PageQuery,
  status: Type.Optional(OneOf(...STATUSES)),
  type: Type.Optional(Type.String({ maxLength: 100, description: 'the event, with dots or with hyphens' })),
}
export const ListDeliveriesQuery = Type.Object({ ...LoggedQuery, endpointId: Type.Optional(Id) })
export const ListDeliveriesOfQuery = Type.Object(LoggedQuery)

const Attempt = Type.Object({
  attempt: Type.Integer(),
  at: Timestamp,
  durationMs: Type.Integer(),
  statusCode: Nullable(Type.Integer()),
  error: Nullable(Type.String()),
  response: Nullable(Type.String({ description: 'the first KiB of the response' })),
})
export const Delivery = Type.Object({
  id: Type.String(),
  accountId: Type.String(),
  endpointId: Type.String(),
  configurationId: Nullable(Type.String()),
  type: Type.String(),
  eventId: Nullable(Type.String({ description: 'the `webhook-id`' })),
  status: OneOf(...STATUSES),
  createdAt: Timestamp,
  dueAt: Nullable(Timestamp),
  doneAt: Nullable(Timestamp),
  attempts: Type.Array(Attempt),
  request: Type.Optional(
    Type.String({ description: 'the body that was sent: of one delivery, for callers who can resend it' }),
  ),
})
export type Delivery = Static<typeof Delivery>
export const DeliveryList = Type.Object({ deliveries: Type.Array(Delivery), pagination: Pagination })

export const ReplayRange = Type.Object({
  since: Type.Integer({ minimum: 0, description: 'deliveries written after this time, or the `next` of a response' }),
  until: Type.Optional(Timestamp),
  status: Type.Optional(OneOf('failed', 'dropped', 'delivered')),
})
export const RangeReplayed = Type.Object({
  replayed: Type.Integer({ description: 'number of deliveries resent; at most 100' }),
  next: Nullable(Type.Integer({ description: 'there may be more: send it as `since`' })),
})

export const WebhookTested = Type.Object({
  arrived: Type.Boolean({ description: 'whether the response was a 2xx' }),
  statusCode: Nullable(Type.Integer()),
  error: Nullable(Type.String({ description: 'why there was no response' })),
  response: Nullable(Type.String({ description: 'the first KiB of the response' })),
  durationMs: Type.Integer(),
  request: Type.String({ description: 'the body that was sent' }),
})

/** Formats a delivery with its attempts. */
export function showDelivery(
  row: Row<'delivery'> & { event_id: string | null },
  attempts: readonly Row<'delivery_attempt'>[],
): Delivery {
  return {
    id: row.id,
    accountId: row.account_id,
    endpointId: row.endpoint_id,
    configurationId: row.configuration_id,
    type: row.type,
    eventId: row.event_id,
    status: row.status === 'pending' && row.held_at !== null ? 'held' : row.status,
    createdAt: stampToMs(row.created_stamp),
    dueAt: row.due_at,
    doneAt: row.done_at,
    attempts: attempts.map((attempt) => ({
      attempt: attempt.attempt,
      at: attempt.at,
      durationMs: attempt.duration_ms,
      statusCode: attempt.status_code,
      error: attempt.error,
      response: attempt.response,
    })),
  }
}
