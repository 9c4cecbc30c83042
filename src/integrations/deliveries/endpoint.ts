/** Each attempt decides whether and what to send, by the state of its endpoint at that time. docs/spec/reliability.md T41. */

import type { Deps } from '../../context.ts'
import { EVENTS, type EventName } from '../../events.ts'
import type { OutgoingRequest } from '../../platform/adapters/egress.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { LAST_EVENTS } from '../../platform/outbox/delivery.ts'
import { subscribedName } from '../../platform/outbox/event-names.ts'
import { jsonListIncludes } from '../../platform/outbox/fan-out.ts'
import { permissionsOf } from '../../platform/permissions/scopes.ts'
import { openSecretBox } from '../../platform/secrets/data-keys.ts'
import type { LeasedDelivery } from './queue.ts'
import { bodySignature, signatureHeaders } from './sign.ts'

/** `gone`: the endpoint was deleted or disabled. `drop`: do not send. `hold`: send later. `unreadable`: no secret can be decrypted. */
export type Decision = { send: OutgoingRequest } | 'gone' | 'drop' | 'hold' | 'unreadable'

const USER_AGENT = 'Berth-Webhooks/1.0'

/** Decides the handling of a delivery that is due. */
export async function decideDelivery(deps: Deps, delivery: LeasedDelivery): Promise<Decision> {
  return delivery.event_stamp === null ? decideLines(deps, delivery) : decideEvent(deps, delivery, delivery.event_stamp)
}

async function decideEvent(deps: Deps, delivery: LeasedDelivery, stamp: number): Promise<Decision> {
  const { read } = deps.db
  const webhook = await read.selectFrom('webhook').selectAll().where('id', '=', delivery.endpoint_id).executeTakeFirst()
  if (webhook === undefined || webhook.disabled_at !== null) return 'gone'
  if (webhook.held_at !== null) return 'hold'
  const event = await read.selectFrom('event').selectAll().where('stamp', '=', stamp).executeTakeFirst()
  if (event === undefined) return 'drop'
  const name = subscribedName(webhook.events_json, event.type)
  if (name === undefined) return 'drop'
  if (await isNarrowed(deps, webhook, event)) return 'drop'
  const stopped = await installationBlock(deps, delivery, event)
  if (stopped !== undefined) return stopped
  const secrets = await secretsOf(deps, webhook)
  if (secrets.length === 0) return 'unreadable'
  const body = bodyOf(event, name)
  const seconds = Math.floor(deps.clock.now() / 1000)
  const signed = signatureHeaders(event.id, seconds, body, secrets)
  const headers = { ...headersOf('application/json'), ...signed }
  return { send: { url: webhook.url, headers, body, accountId: webhook.account_id } }
}

/**
 * Whether a webhook was limited to other projects since an event: its present editor may not see events of this one. A project that left the account
 * leaves the lists too, but what happened before is still sent, such as its transfer.
 */
async function isNarrowed(deps: Deps, webhook: Row<'webhook'>, event: Row<'event'>): Promise<boolean> {
  const { project_id, account_id, stamp } = event
  if (project_id === null || jsonListIncludes(webhook.project_ids_json, project_id)) return false
  if (webhook.updated_at >= stampToMs(stamp)) return true
  const project = deps.db.read.selectFrom('project').select('id').where('account_id', '=', account_id)
  return (await project.where('id', '=', project_id).executeTakeFirst()) !== undefined
}

/** Builds the body `{id, type, createdAt, region, payload}`: docs/spec/wire.md 3.8. `type` is the subscribed name. Every attempt sends the same bytes. */
export function bodyOf(event: Pick<Row<'event'>, 'id' | 'stamp' | 'payload_json'>, type: string): string {
  const head = { id: event.id, type, createdAt: stampToMs(event.stamp), region: null }
  return `${JSON.stringify(head).slice(0, -1)},"payload":${event.payload_json}}`
}

/**
 * Returns why an installation does not get an event now; undefined when it does. A removed installation gets its own removal and earlier project
 * removals only. A disabled one gets the types in `sentWhileDisabled`; others are held, and released in order once it is active. The present scopes
 * must grant the event.
 */
async function installationBlock(
  deps: Deps,
  delivery: LeasedDelivery,
  event: Row<'event'>,
): Promise<'drop' | 'hold' | undefined> {
  const { configuration_id: id } = delivery
  if (id === null) return undefined
  const select = deps.db.read.selectFrom('configuration').selectAll().where('id', '=', id)
  const configuration = await select.executeTakeFirst()
  const isLast = event.configuration_id === id || (LAST_EVENTS as readonly string[]).includes(event.type)
  if (isLast && configuration?.deleted_at != null) return undefined
  if (configuration === undefined || configuration.deleted_at !== null) return 'drop'
  const { needs, sentWhileDisabled } = EVENTS[event.type as EventName]
  if (!sentWhileDisabled) {
    if (configuration.disabled_at !== null) return 'hold'
    const { resumed_at } = configuration
    const before = resumed_at !== null && stampToMs(delivery.created_stamp) <= resumed_at
    if (before && delivery.held_at === null) return 'hold'
  }
  const granted = permissionsOf('OWNER', configuration.scopes_json)
  if (event.configuration_id === id) return undefined
  if (event.type.startsWith('project.env-variable.') && event.made_by !== id && !granted.has('env:all')) return 'drop'
  return needs.every((permission) => granted.has(permission)) ? undefined : 'drop'
}

/** Returns the secret of a webhook, or the client secrets of its integration, oldest first. */
export async function secretsOf(deps: Deps, webhook: Row<'webhook'>): Promise<string[]> {
  const box = await openSecretBox({ db: deps.db.read, deps }, webhook.account_id)
  const { integration_id, sealed_secret } = webhook
  if (integration_id === null) return present([box.openSecret('webhook', webhook.id, sealed_secret ?? '')])
  const rows = await deps.db.read
    .selectFrom('integration_secret')
    .select(['id', 'sealed_secret'])
    .where('integration_id', '=', integration_id)
    .orderBy('created_stamp')
    .execute()
  return present(rows.map((row) => box.openSecret('client-secret', row.id, row.sealed_secret)))
}

function present(secrets: (string | undefined)[]): string[] {
  return secrets.filter((secret) => secret !== undefined)
}

/** Log lines are dropped, not held, while the installation is disabled or lacks the scope. */
async function decideLines(deps: Deps, delivery: LeasedDelivery): Promise<Decision> {
  const { read } = deps.db
  const drain = await read.selectFrom('log_drain').selectAll().where('id', '=', delivery.endpoint_id).executeTakeFirst()
  if (drain === undefined || drain.disabled_at !== null) return 'gone'
  if (drain.held_at !== null) return 'hold'
  if (delivery.body === null) return 'drop'
  if (drain.configuration_id !== null) {
    const active = await read
      .selectFrom('configuration')
      .select('scopes_json')
      .where('id', '=', drain.configuration_id)
      .where('disabled_at', 'is', null)
      .where('deleted_at', 'is', null)
      .executeTakeFirst()
    if (active === undefined || !permissionsOf('OWNER', active.scopes_json).has('drain:read')) return 'drop'
  }
  const box = await openSecretBox({ db: read, deps }, drain.account_id)
  const secret = box.openSecret('log-drain', drain.id, drain.sealed_secret)
  const extra = drain.sealed_headers && box.openSecret('log-drain', `${drain.id}:headers`, drain.sealed_headers)
  if (secret === undefined || extra === undefined) return 'unreadable'
  return { send: linesPost(drain, { secret, headers: JSON.parse(extra || '{}') }, delivery.body) }
}

type LinesTo = Pick<Row<'log_drain'>, 'account_id' | 'url' | 'delivery_format'>

/** Builds the request that sends lines to a drain, with its custom headers and signature. */
export function linesPost(
  { account_id, url, delivery_format }: LinesTo,
  { secret, headers }: { secret: string; headers: Record<string, string> },
  body: string,
): OutgoingRequest {
  const type = delivery_format === 'ndjson' ? 'application/x-ndjson' : 'application/json'
  const own = { ...headersOf(type), 'x-vercel-signature': bodySignature(body, secret) }
  return { url, headers: { ...headers, ...own }, body, accountId: account_id }
}

/** Returns the headers of every request to an endpoint. */
export function headersOf(contentType: string): Record<string, string> {
  return { 'content-type': contentType, 'user-agent': USER_AGENT }
}
