/**
 * TABLE Events that a webhook may name: event -> the first SDK version that knows the name. null: no version knows it, and `getWebhooks` of the SDK
 * would throw on it. Dot and hyphen are equivalent: clients spell `project.domain.created` and `project.domain-created`.
 */
import { EVENTS, type EventName } from '../../events.ts'

const HAPPENS: Record<EventName, string | null> = {
  'project.created': '1.1.0',
  'project.removed': '1.1.0',
  'project.renamed': '1.18.6',
  'project.transfer.started': null,
  'project.transfer.completed': null,
  'project.transfer.failed': null,
  'project.domain.created': '1.8.2',
  'project.domain.updated': '1.8.2',
  'project.domain.deleted': '1.8.2',
  'project.domain.verified': '1.7.7',
  'project.domain.unverified': '1.8.2',
  'project.domain.moved': '1.8.2',
  'project.env-variable.created': '1.19.2',
  'project.env-variable.updated': '1.19.2',
  'project.env-variable.deleted': '1.19.2',
  'integration-configuration.removed': '1.1.0',
  'integration-configuration.scope-change-confirmed': '1.1.0',
  'integration-configuration.permission-upgraded': '1.1.0',
  'integration-configuration.transferred': '1.17.5',
  'deployment.created': '1.1.0',
  'deployment.ready': '1.1.0',
  'deployment.succeeded': '1.1.0',
  'deployment.error': '1.1.0',
  'deployment.canceled': '1.1.0',
  'deployment.promoted': '1.1.0',
  'deployment.cleanup': '1.10.8',
}

/** Events of features that Berth does not have (certificates, DNS records, a marketplace, flags). The Terraform provider names them; they are never sent. */
const NEVER: Record<string, string | null> = {
  'deployment.check-rerequested': '1.1.0',
  'deployment.integration.action.start': '1.1.0',
  'deployment.integration.action.cancel': '1.1.0',
  'deployment.integration.action.cleanup': '1.1.0',
  'domain.created': '1.1.0',
  'domain.auto-renew.changed': '1.8.2',
  'domain.certificate.add': '1.8.2',
  'domain.certificate.add.failed': '1.8.2',
  'domain.certificate.deleted': '1.8.2',
  'domain.certificate.renew': '1.8.2',
  'domain.certificate.renew.failed': '1.8.2',
  'domain.dns.records.changed': '1.8.2',
  'domain.renewal': '1.8.2',
  'domain.renewal.failed': '1.8.2',
  'domain.transfer-in.completed': '1.8.2',
  'domain.transfer-in.failed': '1.8.2',
  'domain.transfer-in.started': '1.8.2',
  'integration-resource.project-connected': '1.3.1',
  'integration-resource.project-disconnected': '1.3.1',
  'marketplace.invoice.created': '1.1.0',
  'marketplace.invoice.notpaid': '1.1.0',
  'marketplace.invoice.paid': '1.1.0',
  'marketplace.invoice.refunded': '1.1.0',
  'marketplace.member.changed': '1.11.0',
  'alerts.triggered': '1.18.5',
  'flag.created': '1.19.26',
  'flag.updated': '1.19.26',
  'flag.deleted': '1.19.26',
  'flag.segment.created': '1.19.26',
  'flag.segment.updated': '1.19.26',
  'flag.segment.deleted': '1.19.26',
  'project.rolling-release.approved': '1.7.1',
  'project.rolling-release.completed': '1.7.1',
  'project.rolling-release.aborted': '1.7.1',
  'project.rolling-release.started': '1.7.1',
}

const SINCE: Readonly<Record<string, string | null>> = { ...HAPPENS, ...NEVER }
/** Every valid event name, in Berth's spelling. */
export const WEBHOOK_EVENT_NAMES: readonly string[] = Object.keys(SINCE)

const BY_LETTERS = new Map(WEBHOOK_EVENT_NAMES.map((name) => [lettersOf(name), name]))

function lettersOf(name: string): string {
  return name.replaceAll('-', '.')
}

/** Returns the event of a name in either spelling, or undefined. An event that is not a key of `EVENTS` never occurs. */
export function resolveEventName(name: string): string | undefined {
  return BY_LETTERS.get(lettersOf(name))
}

/** Returns whether Berth sends an event (spelling with dots). */
export function isEmittedEvent(name: string): name is EventName {
  return Object.hasOwn(EVENTS, name)
}

/** Returns the subscribed name of an event, or undefined without a subscription. For all events (`json` is null) it is Berth's own name. */
export function subscribedName(json: string | null, type: string): string | undefined {
  if (json === null) return type
  const letters = lettersOf(type)
  return (JSON.parse(json) as string[]).find((name) => lettersOf(name) === letters)
}

/**
 * Returns the event names that the caller can decode. An SDK rejects a whole response with an unknown name, so an SDK (by its `User-Agent`) gets the
 * names of its version. Other callers get the subscribed names.
 */
export function eventNamesForClient(agent: string | undefined, events: readonly string[]): string[] {
  const version = /^speakeasy-sdk\/typescript (\d+\.\d+\.\d+) /.exec(agent ?? '')?.[1]
  if (version === undefined) return [...events]
  const names = events.flatMap((name) => resolveEventName(name) ?? [])
  return [...new Set(names.filter((name) => isKnownTo(version, SINCE[name]!)))]
}

function isKnownTo(version: string, since: string | null): boolean {
  return since !== null && version.localeCompare(since, 'en', { numeric: true }) >= 0
}
