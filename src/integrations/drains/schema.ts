/** Bodies and replies of log drains. docs/spec/wire.md 6; both families of the hosted API's routes. */
import type { Static } from 'typebox'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { HeldFields, ProjectIds, showHeld, Url } from '../webhooks/schema.ts'

/** Older clients of `/v1/log-drains` reject a whole list that contains a drain with another source. */
const LOG_DRAIN_SOURCES = ['static', 'lambda', 'build', 'edge', 'external', 'firewall'] as const
export const SOURCES = [...LOG_DRAIN_SOURCES, 'redirect'] as const
export type Source = (typeof SOURCES)[number]
export const ENVIRONMENTS = ['production', 'preview'] as const
export type DrainEnvironment = (typeof ENVIRONMENTS)[number]

export const Sources = Type.Array(OneOf(...SOURCES), { minItems: 1, maxItems: SOURCES.length })
const LogDrainSources = Type.Array(OneOf(...LOG_DRAIN_SOURCES), { minItems: 1, maxItems: LOG_DRAIN_SOURCES.length })
export const Environments = Type.Array(OneOf(...ENVIRONMENTS), { minItems: 1, maxItems: ENVIRONMENTS.length })
export const Format = OneOf('json', 'ndjson')
export const DrainName = Type.String({ minLength: 1, maxLength: 100 })
export const Headers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  patternProperties: { '^.*$': { type: 'string' } },
  maxProperties: 20,
  description: 'sent with every delivery',
})
export const Secret = Type.String({
  minLength: 20,
  maxLength: 256,
  description: 'signs the requests; generated if absent',
})

const common = {
  url: Url,
  projectIds: Type.Optional(Nullable(ProjectIds)),
  environments: Type.Optional(Environments),
  headers: Type.Optional(Headers),
  secret: Type.Optional(Secret),
}
export const NewLogDrain = Type.Object({
  ...common,
  deliveryFormat: Format,
  sources: LogDrainSources,
  name: Type.Optional(DrainName),
  samplingRate: Type.Optional(
    Type.Unsafe<1>({ type: 'number', enum: [1], description: 'every line is sent: no other rate is accepted' }),
  ),
})
export const NewIntegrationDrain = Type.Object({
  ...common,
  deliveryFormat: Type.Optional(Format),
  sources: Type.Optional(LogDrainSources),
  name: DrainName,
})
export type NewLogDrain = Static<typeof NewLogDrain> | Static<typeof NewIntegrationDrain>

const fields = {
  id: Type.String(),
  name: Type.String(),
  url: Type.String(),
  ownerId: Type.String(),
  teamId: Type.Optional(Nullable(Type.String())),
  configurationId: Type.Optional(Type.String()),
  deliveryFormat: Format,
  projectIds: Type.Optional(Type.Array(Type.String())),
  sources: Type.Optional(Type.Array(OneOf(...LOG_DRAIN_SOURCES))),
  environments: Type.Array(OneOf(...ENVIRONMENTS)),
  createdFrom: Type.Optional(OneOf('self-served', 'integration')),
  /** Newer clients require it. */
  source: Type.Object({
    kind: OneOf('self-served', 'integration'),
    integrationId: Type.Optional(Type.String()),
    integrationConfigurationId: Type.Optional(Type.String()),
  }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  deletedAt: Type.Null(),
  status: OneOf('enabled', 'disabled', 'errored'),
  firstErrorTimestamp: Type.Optional(Timestamp),
  /** The hosted API has other reasons than Berth, so none is returned. */
  disabledAt: Type.Optional(Timestamp),
  ...HeldFields,
}
export const LogDrain = Type.Object(fields, { title: 'LogDrain' })
export type LogDrain = Static<typeof LogDrain>
export const LogDrainList = Type.Array(LogDrain)
/** Clients require `secret` when they get one drain. It is set at creation and empty afterwards. */
export const LogDrainReply = Type.Object({ ...fields, secret: Type.String({ description: 'shown once, then empty' }) })

/** A drain with the integration of its installation, if any. */
export type DrainRow = Row<'log_drain'> & { integration_id: string | null }

/** Formats a drain for `/v1/log-drains`. */
export function showLogDrain(row: DrainRow): LogDrain {
  const { configuration_id: installation, integration_id: integrationId } = row
  const ofInstallation = installation !== null && integrationId !== null
  return {
    id: row.id,
    name: row.name,
    url: row.url,
    ownerId: row.account_id,
    ...(row.account_id.startsWith('team_') && { teamId: row.account_id }),
    ...(ofInstallation && { configurationId: installation }),
    source: ofInstallation
      ? { kind: 'integration', integrationId, integrationConfigurationId: installation }
      : { kind: 'self-served' },
    deliveryFormat: row.delivery_format,
    ...(row.project_ids_json !== null && { projectIds: JSON.parse(row.project_ids_json) }),
    ...(row.sources_json !== null && { sources: sourcesOf(row.sources_json) }),
    environments: JSON.parse(row.environments_json),
    // Older clients accept both values, newer ones only `self-served`.
    ...(!ofInstallation && { createdFrom: 'self-served' as const }),
    createdAt: stampToMs(row.created_stamp),
    updatedAt: row.updated_at,
    deletedAt: null,
    ...showStatus(row),
    ...showHeld(row),
  }
}

function sourcesOf(json: string): (typeof LOG_DRAIN_SOURCES)[number][] {
  const sources: string[] = JSON.parse(json)
  return LOG_DRAIN_SOURCES.filter((source) => sources.includes(source))
}

/** Returns whether lines are sent, and since when they are not. */
export function showStatus(row: Row<'log_drain'>) {
  const status =
    (row.disabled_at ?? row.held_at) !== null ? 'disabled' : row.failing_since !== null ? 'errored' : 'enabled'
  return {
    status: status as 'disabled' | 'errored' | 'enabled',
    ...(row.failing_since !== null && { firstErrorTimestamp: row.failing_since }),
    ...(row.disabled_at !== null && { disabledAt: row.disabled_at }),
  }
}

const MAX_LINES = 1000
const Line = Type.Object({
  timestamp: Timestamp,
  message: Type.String({ maxLength: 256 * 1024 }),
  source: OneOf(...SOURCES),
  deploymentId: Type.Optional(Type.String({ maxLength: 100 })),
  environment: Type.Optional(OneOf(...ENVIRONMENTS)),
})
export const LogLines = Type.Object({ lines: Type.Array(Line, { minItems: 1, maxItems: MAX_LINES }) })
export type LogLines = Static<typeof LogLines>
export const IngestResult = Type.Object({
  lines: Type.Integer(),
  drains: Type.Integer({ description: 'for how many log drains some of the lines were queued' }),
  dropped: Type.Integer({
    description: 'lines that were dropped because too much waits for a drain, counted for each drain',
  }),
})
