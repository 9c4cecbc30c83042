/** Bodies and replies of `/v1/drains`, the newer paths for log drains. docs/webhooks.md: Log drains. */
import type { Static } from 'typebox'
import { stampToMs } from '../../platform/base/clock.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Timestamp, Unsupported } from '../../platform/schema/fields.ts'
import { HeldFields, ProjectIds, showHeld, Url } from '../webhooks/schema.ts'
import {
  DrainName,
  type DrainRow,
  ENVIRONMENTS,
  Environments,
  Format,
  Headers,
  Secret,
  SOURCES,
  Sources,
  showStatus,
} from './schema.ts'

const Schemas = Type.Unsafe<Record<string, { version: string }>>({
  type: 'object',
  patternProperties: {
    '^.*$': { type: 'object', required: ['version'], properties: { version: { type: 'string', enum: ['v1'] } } },
  },
  minProperties: 1,
  maxProperties: 20,
  description: '`{"log": {"version": "v1"}}`: Berth has log lines, and nothing else to send',
})
const NO_BUCKET = 'lines are sent by HTTP, and are not stored in a bucket'
const Delivery = Type.Object({
  type: OneOf('http'),
  endpoint: Url,
  encoding: Format,
  headers: Type.Optional(Headers),
  secret: Type.Optional(Secret),
  compression: Type.Optional(OneOf('none')),
  fileStructure: Type.Optional(Unsupported(NO_BUCKET)),
  roleArn: Type.Optional(Unsupported(NO_BUCKET)),
  region: Type.Optional(Unsupported(NO_BUCKET)),
  serverSideEncryption: Type.Optional(Unsupported(NO_BUCKET)),
  objectAcl: Type.Optional(Unsupported(NO_BUCKET)),
})
const Filter = Type.Object({
  version: OneOf('v2'),
  filter: Type.Object({
    type: OneOf('basic'),
    text: Type.Optional(Unsupported('lines are chosen by source, environment and project')),
    project: Type.Optional(Type.Object({ ids: Type.Optional(ProjectIds) })),
    log: Type.Optional(Type.Object({ sources: Type.Optional(Sources) })),
    deployment: Type.Optional(Type.Object({ environments: Type.Optional(Environments) })),
  }),
})
export type Filter = Static<typeof Filter>

const rule = {
  type: OneOf('head_sampling'),
  rate: Type.Number({ minimum: 0, maximum: 1, description: 'the share of the lines that is sent: 0.1 for a tenth' }),
  env: Type.Optional(OneOf(...ENVIRONMENTS)),
}
const Sampling = Type.Array(Type.Object({ ...rule, requestPath: Type.Optional(Unsupported('lines have no path')) }), {
  maxItems: 10,
  description: 'the first rule that counts for the environment of a line; without one it is sent',
})
export type Sampling = { rate: number; env?: (typeof ENVIRONMENTS)[number] }[]

const NO_RESOURCE = 'Berth has no resources of integrations'
const Source = Type.Object({
  kind: Type.Optional(OneOf('self-served', 'integration')),
  resourceId: Type.Optional(Unsupported(NO_RESOURCE)),
  externalResourceId: Type.Optional(Unsupported(NO_RESOURCE)),
})
const Transforms = Unsupported('lines are sent unchanged')

export const NewDrain = Type.Object({
  name: DrainName,
  projects: OneOf('some', 'all'),
  projectIds: Type.Optional(ProjectIds),
  filter: Type.Optional(Filter),
  schemas: Schemas,
  delivery: Delivery,
  sampling: Type.Optional(Sampling),
  transforms: Type.Optional(Transforms),
  source: Type.Optional(Source),
})
export type NewDrain = Static<typeof NewDrain>

export const PatchDrain = Type.Object({
  name: Type.Optional(DrainName),
  projects: Type.Optional(OneOf('some', 'all')),
  projectIds: Type.Optional(Nullable(ProjectIds)),
  filter: Type.Optional(Filter),
  schemas: Type.Optional(Schemas),
  delivery: Type.Optional(Delivery),
  sampling: Type.Optional(Nullable(Sampling)),
  transforms: Type.Optional(Transforms),
  status: Type.Optional(OneOf('enabled', 'disabled')),
  source: Type.Optional(Source),
})
export type PatchDrain = Static<typeof PatchDrain>

export const DrainToTest = Type.Object({ schemas: Schemas, delivery: Delivery })
export type DrainToTest = Static<typeof DrainToTest>
export const DrainTestResult = Type.Object({
  status: Type.Optional(OneOf('failed')),
  endpoint: Type.Optional(Type.String()),
  error: Type.Optional(Type.String({ description: 'why the test did not arrive; nothing at all when it did' })),
})

export const ListDrainsQuery = Type.Object({ projectId: Type.Optional(Type.String({ maxLength: 100 })) })

export const Drain = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    ownerId: Type.String(),
    teamId: Type.Optional(Nullable(Type.String())),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    status: OneOf('enabled', 'disabled', 'errored'),
    disabledAt: Type.Optional(Timestamp),
    disabledReason: Type.Optional(OneOf('disabled-by-owner')),
    firstErrorTimestamp: Type.Optional(Timestamp),
    projectIds: Type.Optional(Type.Array(Type.String())),
    schemas: Type.Object({ log: Type.Object({ version: Type.String() }) }),
    delivery: Type.Object({
      type: OneOf('http'),
      endpoint: Type.String(),
      encoding: Format,
      compression: OneOf('none'),
      headers: Type.Unsafe<Record<string, string>>({
        type: 'object',
        additionalProperties: { type: 'string' },
        description: 'with the values that this request set; every other value is shown empty',
      }),
      secret: Type.Optional(Type.String({ description: 'shown at creation' })),
    }),
    filterV2: Type.Object({
      version: OneOf('v2'),
      filter: Type.Object({
        type: OneOf('basic'),
        project: Type.Optional(Type.Object({ ids: Type.Array(Type.String()) })),
        log: Type.Optional(Type.Object({ sources: Type.Array(OneOf(...SOURCES)) })),
        deployment: Type.Object({ environments: Type.Array(OneOf(...ENVIRONMENTS)) }),
      }),
    }),
    sampling: Type.Optional(Type.Array(Type.Object(rule))),
    source: Type.Object({
      kind: OneOf('self-served', 'integration'),
      integrationId: Type.Optional(Type.String()),
      integrationConfigurationId: Type.Optional(Type.String()),
    }),
    ...HeldFields,
  },
  { title: 'Drain' },
)
export type Drain = Static<typeof Drain>
export const DrainList = Type.Object({ drains: Type.Array(Drain) })

/** Formats a drain for `/v1/drains`. `headers`: with masked values. `secret`: only for a new drain. */
export function showDrain(row: DrainRow, headers: Record<string, string>, secret?: string): Drain {
  const { configuration_id: installation, integration_id: integrationId } = row
  const projectIds: string[] | null = row.project_ids_json === null ? null : JSON.parse(row.project_ids_json)
  return {
    id: row.id,
    name: row.name,
    ownerId: row.account_id,
    ...(row.account_id.startsWith('team_') && { teamId: row.account_id }),
    createdAt: stampToMs(row.created_stamp),
    updatedAt: row.updated_at,
    ...showStatus(row),
    ...(row.disabled_reason === 'owner' && { disabledReason: 'disabled-by-owner' as const }),
    ...(projectIds !== null && { projectIds }),
    schemas: { log: { version: 'v1' } },
    delivery: {
      type: 'http',
      endpoint: row.url,
      encoding: row.delivery_format,
      compression: 'none',
      headers,
      ...(secret !== undefined && { secret }),
    },
    filterV2: {
      version: 'v2',
      filter: {
        type: 'basic',
        ...(projectIds !== null && { project: { ids: projectIds } }),
        ...(row.sources_json !== null && { log: { sources: JSON.parse(row.sources_json) } }),
        deployment: { environments: JSON.parse(row.environments_json) },
      },
    },
    ...(row.sampling_json !== null && { sampling: JSON.parse(row.sampling_json) }),
    source:
      installation !== null && integrationId !== null
        ? { kind: 'integration', integrationId, integrationConfigurationId: installation }
        : { kind: 'self-served' },
    ...showHeld(row),
  }
}
