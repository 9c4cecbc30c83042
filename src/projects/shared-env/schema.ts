/** Wire types for a shared variable: the shapes of the newest SDK and of the Terraform provider. docs/shared-variables.md. */
import type { Static } from 'typebox'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, Pagination, Timestamp } from '../../platform/schema/fields.ts'
import { type StandardTarget, TARGETS, type ValueView } from '../env/schema.ts'

export const MAX_SHARED_VARIABLES = 200
export const MAX_PROJECTS_PER_VARIABLE = 100
export const MAX_LINKS = 500
const MAX_AT_ONCE = 20

const Id = Type.String({ minLength: 1, maxLength: 100 })
const Projects = Type.Array(Id, { maxItems: MAX_PROJECTS_PER_VARIABLE, description: 'projects of the account, by id' })
const fields = {
  type: Type.Optional(Nullable(OneOf('encrypted', 'sensitive'))),
  target: Type.Optional(
    Type.Union([OneOf(...TARGETS), Type.Array(OneOf(...TARGETS), { minItems: 1, maxItems: 20 }), Type.Null()]),
  ),
  projectId: Type.Optional(Nullable(Projects)),
  applyToAllCustomEnvironments: Type.Optional(
    Type.Boolean({ description: 'only false: shared variables are in production, preview and development' }),
  ),
}
const Comment = Type.Optional(Nullable(Type.String({ maxLength: 500 })))

export const CreateShared = Type.Object({
  evs: Type.Array(Type.Object({ key: Type.String(), value: Type.String(), comment: Comment }), {
    minItems: 1,
    maxItems: MAX_AT_ONCE,
  }),
  ...fields,
})
export type CreateShared = Static<typeof CreateShared>

const Update = Type.Object({
  key: Type.Optional(Type.String()),
  value: Type.Optional(Type.String()),
  comment: Comment,
  ...fields,
  projectIdUpdates: Type.Optional(
    Nullable(Type.Object({ link: Type.Optional(Nullable(Projects)), unlink: Type.Optional(Nullable(Projects)) })),
  ),
})
export type Update = Static<typeof Update>

export const UpdateShared = Type.Object({
  updates: Type.Unsafe<Record<string, Update>>({
    type: 'object',
    minProperties: 1,
    maxProperties: MAX_AT_ONCE,
    patternProperties: { '^.': Update },
    description: 'the changes of each variable, by its id',
  }),
})
export type UpdateShared = Static<typeof UpdateShared>

export const DeleteShared = Type.Object({ ids: Type.Array(Id, { minItems: 1, maxItems: MAX_AT_ONCE }) })
export type DeleteShared = Static<typeof DeleteShared>

const Ids = Type.Optional(Type.String({ maxLength: 8192, description: 'ids, comma-separated' }))
const NotIds = Type.Optional(Type.String({ maxLength: 8192, description: 'all but these ids, comma-separated' }))
const NotOf = Type.Optional(Type.String({ maxLength: 100, description: 'only those that this project does not have' }))
export const ListSharedQuery = Type.Object({
  search: Type.Optional(Type.String({ maxLength: 256, description: 'a part of the key, case-insensitive' })),
  projectId: Type.Optional(Type.String({ maxLength: 100, description: 'only those that this project has' })),
  ids: Ids,
  exclude_ids: NotIds,
  'exclude-ids': NotIds,
  exclude_projectId: NotOf,
  'exclude-projectId': NotOf,
})
export type ListSharedQuery = Static<typeof ListSharedQuery>

const replyFields = {
  id: Type.String(),
  key: Type.String(),
  value: Type.String({ description: 'empty where it is not shown' }),
  type: OneOf('encrypted', 'sensitive'),
  target: Type.Array(OneOf(...TARGETS)),
  projectId: Type.Array(Type.String(), { description: 'the projects that have it' }),
  ownerId: Type.String({ description: 'the account' }),
  comment: Type.Optional(Type.String()),
  applyToAllCustomEnvironments: Type.Boolean({ description: 'always false' }),
  customEnvironmentIds: Type.Array(Type.String(), { description: 'always empty' }),
  created: Type.String({ description: 'as a date' }),
  createdAt: Timestamp,
  createdBy: Type.String(),
  updatedAt: Timestamp,
  updatedBy: Type.String(),
  decrypted: Type.Boolean(),
}
export const SharedVariable = Type.Object(replyFields, { title: 'SharedVariable' })
export type SharedVariable = Static<typeof SharedVariable>

const Listed = Type.Object({ ...replyFields, securityIssues: Type.Array(Type.Object({})) })
export const SharedList = Type.Object({ data: Type.Array(Listed), pagination: Pagination })
/** A conflict refuses the complete request, so `failed` is always empty. */
const failed = Type.Array(Type.Object({}), { maxItems: 0 })
export const CreatedShared = Type.Object({ created: Type.Array(SharedVariable), failed })
export const UpdatedShared = Type.Object({ updated: Type.Array(SharedVariable), failed })
export const DeletedShared = Type.Object({ deleted: Type.Array(Type.String()), failed })

export type SharedRow = Row<'shared_env_var'>

/** Returns the targets of a shared variable from its row. */
export function sharedTargets({ targets }: Pick<SharedRow, 'targets'>): StandardTarget[] {
  return targets.split(',') as StandardTarget[]
}

/** Builds the response for a variable and its projects. */
export function showShared(
  row: Omit<SharedRow, 'sealed_value'>,
  projectId: string[],
  reading: ValueView,
): SharedVariable {
  const clear = typeof reading === 'object'
  return {
    id: row.id,
    key: row.key,
    value: clear ? reading.clear : '',
    type: row.type,
    target: sharedTargets(row),
    projectId,
    ownerId: row.account_id,
    ...(row.comment !== null && { comment: row.comment }),
    applyToAllCustomEnvironments: false,
    customEnvironmentIds: [],
    created: new Date(stampToMs(row.created_stamp)).toISOString(),
    createdAt: stampToMs(row.created_stamp),
    createdBy: row.created_by,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
    decrypted: clear,
  }
}
