/**
 * Fan-out of an event to endpoints, in its transaction, so exactly the committed events are sent. Webhooks of the account receive subscribed events;
 * an installation receives what its grants allow. Specification: Events.
 */

import { sql } from 'kysely'
import type { EventAccount, EventContext, OperatorCtx } from '../../context.ts'
import { EVENTS, type EventName } from '../../events.ts'
import { newId } from '../base/ids.ts'
import { preparedQuery } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { permissionsOf } from '../permissions/scopes.ts'
import { insertDelivery } from './delivery.ts'
import { subscribedName } from './event-names.ts'

type PublishedEvent = { type: EventName; about: EventContext; owner: EventAccount; stamp: number }

/** Writes a delivery for every subscribed endpoint and wakes the worker. Returns the number of deliveries. */
export async function fanOut(ctx: Pick<OperatorCtx, 'db' | 'deps'>, event: PublishedEvent): Promise<number> {
  const accountId = event.owner.id
  const endpoints = await selectEndpoints(ctx.db, { accountId, aboutId: event.about.installationId ?? '' })
  if (endpoints.length === 0) return 0
  let deliveries = 0
  for (const endpoint of endpoints) {
    if (!(await isSubscribed(ctx, endpoint, event))) continue
    deliveries++
    const resting = endpoint.disabled_at !== null && !EVENTS[event.type].sentWhileDisabled
    const isHeld = resting || endpoint.held_at !== null
    const now = ctx.deps.clock.now()
    const id = newId('dlv')
    ctx.deps.traces?.causes(id)
    await insertDelivery(ctx.db, {
      id,
      account_id: accountId,
      endpoint_id: endpoint.id,
      configuration_id: endpoint.configuration_id,
      event_stamp: event.stamp,
      type: event.type,
      body: null,
      body_bytes: null,
      due_at: isHeld ? null : now,
      held_at: isHeld ? now : null,
      created_stamp: ctx.deps.clock.stamp(),
    })
  }
  if (deliveries > 0) ctx.deps.wakeups.deliveries()
  return deliveries
}

async function isSubscribed(ctx: Pick<OperatorCtx, 'db'>, endpoint: Endpoint, event: PublishedEvent): Promise<boolean> {
  const { type, about } = event
  if (subscribedName(endpoint.events_json, type) === undefined) return false
  const { projectId, installationId: aboutId } = about
  if (projectId !== undefined && !jsonListIncludes(endpoint.project_ids_json, projectId)) return false
  if (endpoint.configuration_id === null) return true
  // Of all installations, only the one that the event is about receives it, whatever its grants.
  if (aboutId !== undefined) return endpoint.configuration_id === aboutId
  if (!isGranted(endpoint, event)) return false
  if (projectId === undefined || endpoint.project_selection === 'all') return true
  if (about.selectedBy !== undefined) return about.selectedBy.includes(endpoint.configuration_id)
  const selected = await selectSelected(ctx.db, { installationId: endpoint.configuration_id, projectId })
  return selected.length > 0
}

/** Returns whether a JSON list contains a value. Null contains all values. */
export function jsonListIncludes(json: string | null, item: string): boolean {
  return json === null || (JSON.parse(json) as string[]).includes(item)
}

/** Whether the grants of an installation allow the event. Events about variables of others need the scope to see all variables. */
function isGranted(endpoint: Endpoint, { type, about }: PublishedEvent): boolean {
  if (endpoint.scopes_json === null) return false
  const granted = permissionsOf('OWNER', endpoint.scopes_json)
  if (!EVENTS[type].needs.every((permission) => granted.has(permission))) return false
  return about.createdBy === undefined || about.createdBy === endpoint.configuration_id || granted.has('env:all')
}

type Endpoint = Pick<Row<'webhook'>, 'id' | 'events_json' | 'project_ids_json' | 'held_at'> & {
  configuration_id: string | null
  scopes_json: string | null
  project_selection: 'all' | 'selected' | null
  disabled_at: number | null
}

const OF_WEBHOOK = ['webhook.id', 'webhook.events_json', 'webhook.project_ids_json', 'webhook.held_at'] as const
const OF_INSTALLATION = [
  'configuration.scopes_json',
  'configuration.project_selection',
  'configuration.disabled_at',
] as const

/**
 * One query per event, which is the whole cost of webhooks for most accounts. An installation that was deleted in this transaction receives its own
 * deletion.
 */
const selectEndpoints = preparedQuery<{ accountId: string; aboutId: string }, Endpoint>((db, value) =>
  db
    .selectFrom('webhook')
    .leftJoin('configuration', 'configuration.id', 'webhook.configuration_id')
    .select([...OF_WEBHOOK, 'webhook.configuration_id', ...OF_INSTALLATION])
    .where('webhook.account_id', '=', value.accountId)
    // `coalesce` keeps the engines from using the index by integration, in which all these webhooks are null.
    .where(sql`coalesce(webhook.integration_id, '')`, '=', '')
    .where('webhook.disabled_at', 'is', null)
    .where((eb) => eb.or([eb('webhook.ended_at', 'is', null), eb('webhook.configuration_id', '=', value.aboutId)]))
    .unionAll(
      db
        .selectFrom('configuration')
        .innerJoin('webhook', 'webhook.integration_id', 'configuration.integration_id')
        .select([...OF_WEBHOOK, 'configuration.id as configuration_id', ...OF_INSTALLATION])
        .where('configuration.account_id', '=', value.accountId)
        .where((eb) => eb.or([eb('configuration.deleted_at', 'is', null), eb('configuration.id', '=', value.aboutId)]))
        .where('webhook.disabled_at', 'is', null),
    ),
)

const selectSelected = preparedQuery<{ installationId: string; projectId: string }, { project_id: string }>(
  (db, value) =>
    db
      .selectFrom('configuration_project')
      .select('project_id')
      .where('configuration_id', '=', value.installationId)
      .where('project_id', '=', value.projectId),
)
