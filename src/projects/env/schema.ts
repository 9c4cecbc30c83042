/** Wire types for a variable. Specification: Environment variable; docs/spec/wire.md 2.8 for what every SDK version decodes. */
import type { Static } from 'typebox'
import { type EnvironmentId, TargetName } from '../../model/environment.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Pagination, Timestamp } from '../../platform/schema/fields.ts'

export const TARGETS = ['production', 'preview', 'development'] as const
export type StandardTarget = (typeof TARGETS)[number]
export type Target = StandardTarget | EnvironmentId
export const ENV_TYPES = ['system', 'encrypted', 'plain', 'sensitive', 'secret'] as const
export type EnvType = (typeof ENV_TYPES)[number]

export const MAX_VARIABLES = 1000

const AnyTarget = OneOf(...TARGETS)
export const MAX_BRANCH_LENGTH = 250
const Branch = Type.String({ maxLength: MAX_BRANCH_LENGTH })
const Id = Type.String({ maxLength: 100 })
const CustomEnvironment = Type.String({ maxLength: 100, description: 'the slug or id of a custom environment' })
const OptionalId = Type.Optional(Id)
const ContentHint = Type.Object({
  type: Id,
  storeId: OptionalId,
  projectId: OptionalId,
  integrationId: OptionalId,
  integrationProductId: OptionalId,
  integrationConfigurationId: OptionalId,
})

const fields = {
  target: Type.Optional(Type.Union([AnyTarget, Type.Array(AnyTarget, { maxItems: 20 }), Type.Null()])),
  type: Type.Optional(OneOf(...ENV_TYPES)),
  gitBranch: Type.Optional(Nullable(Branch)),
  comment: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  customEnvironmentIds: Type.Optional(
    Nullable(Type.Array(Id, { maxItems: 20, description: 'custom environments of the project, by id or slug' })),
  ),
  customEnvironmentId: Type.Optional(Nullable(Type.String({ maxLength: 100, description: 'one more of them' }))),
  contentHint: Type.Optional(Nullable(ContentHint)),
  edgeConfigId: Type.Optional(Nullable(Id)),
  edgeConfigTokenId: Type.Optional(Nullable(Id)),
}
/** Length and characters of key and value have their own codes (`rules.ts`). */
export const NewVariable = Type.Object({ key: Type.String(), value: Type.String(), ...fields })
export type NewVariable = Static<typeof NewVariable>

export const CreateEnv = Type.Union([NewVariable, Type.Array(NewVariable, { minItems: 1 })])
export type CreateEnv = Static<typeof CreateEnv>
export const CreateEnvQuery = Type.Object({ upsert: Type.Optional(Type.Boolean()) })

export const EditEnv = Type.Object({
  key: Type.Optional(Type.String()),
  value: Type.Optional(Type.String()),
  ...fields,
})
export type EditEnv = Static<typeof EditEnv>

/** Without `limit` the list is complete, for clients that do not page (docs/spec/client-requests.md B.3). */
export const ListEnvQuery = Type.Object({
  decrypt: Type.Optional(Type.Boolean({ description: 'return decrypted values that the caller may read' })),
  gitBranch: Type.Optional(Branch),
  target: Type.Optional(TargetName),
  source: Type.Optional(Type.String({ maxLength: 256, description: 'the client; ignored' })),
  customEnvironmentId: Type.Optional(CustomEnvironment),
  customEnvironmentSlug: Type.Optional(CustomEnvironment),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_VARIABLES, description: 'all when not given' })),
  until: Type.Optional(Type.Integer({ minimum: 0, description: 'only variables made before this' })),
})

const replyFields = {
  id: Type.String(),
  key: Type.String(),
  value: Type.String(),
  type: OneOf(...ENV_TYPES),
  target: Type.Array(AnyTarget),
  gitBranch: Type.Optional(Type.String()),
  comment: Type.Optional(Type.String()),
  configurationId: Nullable(Type.String({ description: 'the installation that created it; null: a user did' })),
  integration: Type.Optional(
    Type.Object(
      { name: Type.String(), slug: Type.String(), icon: Type.String({ description: 'the URL of its logo, or empty' }) },
      { description: 'the integration behind `configurationId`, to show with the variable' },
    ),
  ),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  createdBy: Nullable(Type.String()),
  updatedBy: Nullable(Type.String()),
  edgeConfigId: Nullable(Type.String()),
  edgeConfigTokenId: Nullable(Type.String()),
  contentHint: Nullable(Type.Object({}, { additionalProperties: true })),
  customEnvironmentId: Type.Optional(Type.String({ description: 'the first of `customEnvironmentIds`' })),
  customEnvironmentIds: Type.Array(Type.String()),
  decrypted: Type.Boolean(),
  version: Type.Integer({ description: 'goes up by one with every change' }),
}
export const EnvVar = Type.Object(replyFields, { title: 'EnvironmentVariable' })
export type EnvVar = Static<typeof EnvVar>

/** Items of a list contain `securityIssues`: the newest SDKs throw without it (docs/spec/wire.md 4.2). */
const ListedEnv = Type.Object({ ...replyFields, securityIssues: Type.Array(Type.Object({})) })
export const EnvList = Type.Object({ envs: Type.Array(ListedEnv), pagination: Pagination })

const FailedEnv = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    key: Type.String(),
    envVarKey: Type.String(),
    envVarId: Type.Optional(Type.String()),
    target: Type.Array(AnyTarget),
    customEnvironmentIds: Type.Optional(Type.Array(Type.String())),
    gitBranch: Type.Optional(Type.String()),
  }),
})
export type FailedEnv = Static<typeof FailedEnv>
export const CreatedEnv = Type.Object({
  created: Type.Union([EnvVar, Type.Array(EnvVar)]),
  failed: Type.Array(FailedEnv),
})
export type CreatedEnv = Static<typeof CreatedEnv>

export const DeleteEnvQuery = Type.Object({ customEnvironmentId: Type.Optional(CustomEnvironment) })
export const DeleteEnvs = Type.Object({ ids: Type.Array(Id) })
export const DeletedEnvs = Type.Object({ deleted: Type.Integer(), ids: Type.Array(Type.String()) })

/** Cache of parsed target lists: few exist, and each variable needs one several times. */
const lists = new Map<string, readonly Target[]>([['', []]])
const LISTS_KEPT = 1000

/** Returns the targets of a row. Empty if its only environment was removed. */
export function targetsIn({ targets }: { targets: string }): readonly Target[] {
  const cached = lists.get(targets)
  if (cached !== undefined) return cached
  if (lists.size > LISTS_KEPT) lists.clear()
  const list = targets === '' ? [] : (targets.split(',') as Target[])
  lists.set(targets, list)
  return list
}

/** Returns whether a target is production, preview or development. */
export function isStandard(name: string): name is StandardTarget {
  return (TARGETS as readonly string[]).includes(name)
}

/** Splits targets for a response: standard ones, and ids of custom environments. */
export function showTargets(targets: readonly Target[]): { target: StandardTarget[]; customEnvironmentIds: string[] } {
  return {
    target: targets.filter(isStandard),
    customEnvironmentIds: targets.filter((target) => !isStandard(target)),
  }
}

/** A value for its reader: plaintext, hidden (write-only, not requested, not allowed), or broken if decryption fails. */
export type ValueView = { clear: string } | 'hidden' | 'broken'

/** Builds the response for a row. A hidden value is opaque text, and "" if write-only or broken. Missing gitBranch and comment are omitted, never null. */
export function showEnv(row: Row<'env_var'>, reading: ValueView): EnvVar {
  const clear = typeof reading === 'object'
  const places = showTargets(targetsIn(row))
  const [customEnvironmentId] = places.customEnvironmentIds
  return {
    id: row.id,
    key: row.key,
    value: clear ? reading.clear : row.type === 'sensitive' || reading === 'broken' ? '' : opaque(row),
    type: row.type,
    ...places,
    ...(customEnvironmentId !== undefined && { customEnvironmentId }),
    ...(row.git_branch !== '' && { gitBranch: row.git_branch }),
    ...(row.comment !== null && { comment: row.comment }),
    configurationId: row.configuration_id,
    createdAt: stampToMs(row.created_stamp),
    updatedAt: row.updated_at,
    createdBy: row.created_by,
    updatedBy: row.updated_by,
    edgeConfigId: row.edge_config_id,
    edgeConfigTokenId: row.edge_config_token_id,
    contentHint: row.content_hint_json === null ? null : JSON.parse(row.content_hint_json),
    decrypted: clear,
    version: row.version,
  }
}

/** The end of the ciphertext: its tag, which changes with the value but reveals nothing. */
function opaque({ sealed_value }: Row<'env_var'>): string {
  return `sealed:${sealed_value.slice(-22)}`
}

/** Adds `integration` (name, slug, and the URL of its logo or empty) to variables of installations, in place; a query for each 500. */
export async function addLogos(db: Queries, variables: readonly EnvVar[]): Promise<void> {
  const ofIntegrations = variables.filter((variable) => variable.configurationId !== null)
  for (const slice of chunks([...new Set(ofIntegrations.map((variable) => variable.configurationId!))])) {
    const rows = await db
      .selectFrom('configuration')
      .innerJoin('integration', 'integration.id', 'configuration.integration_id')
      .select(['configuration.id', 'integration.name', 'integration.slug', 'integration.logo_url'])
      .where('configuration.id', 'in', slice)
      .execute()
    const byId = new Map(rows.map(({ id, name, slug, logo_url }) => [id, { name, slug, icon: logo_url ?? '' }]))
    for (const variable of ofIntegrations) {
      const integration = byId.get(variable.configurationId!)
      if (integration !== undefined) variable.integration = integration
    }
  }
}
