/** Wire types for aliases. docs/spec/wire.md 6; the shapes that the SDKs of docs/spec/wire.md 4 decode. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { CommaSeparated, Nullable, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'

const Text = Type.Optional(Type.String({ maxLength: 256 }))
const since = Type.Optional(Type.Integer({ minimum: 0, description: 'only those made after this timestamp' }))
export const ListAliasesQuery = Type.Object({
  ...PageQuery,
  since,
  from: Type.Optional(Type.Integer({ minimum: 0, description: 'as `since`' })),
  projectId: Text,
  domain: Type.Optional(CommaSeparated(Type.String({ minLength: 1, maxLength: 256 }), 'names: any of them')),
})
export type ListAliasesQuery = Static<typeof ListAliasesQuery>

/** A filter mismatch returns 404. */
export const AliasQuery = Type.Object({
  projectId: Text,
  since,
  from: Type.Optional(Type.Integer({ minimum: 0, description: 'as `since`' })),
  until: PageQuery.until,
})
export type AliasQuery = Static<typeof AliasQuery>

export const Alias = Type.Object(
  {
    uid: Type.String(),
    alias: Type.String(),
    created: Type.String({ description: 'ISO 8601' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    deletedAt: Type.Null(),
    deployment: Type.Object({ id: Type.String(), url: Type.String() }),
    deploymentId: Type.String(),
    projectId: Type.String(),
    redirect: Type.Null(),
    redirectStatusCode: Type.Null(),
  },
  { title: 'Alias' },
)
export type Alias = Static<typeof Alias>
export const AliasPage = Type.Object({ aliases: Type.Array(Alias), pagination: Pagination })
export const DeploymentAliases = Type.Object({ aliases: Type.Array(Alias) })

export const AssignAlias = Type.Object({
  alias: Type.String({ minLength: 1, description: 'a domain name, or a label under the platform\u2019s suffix' }),
  redirect: Type.Optional(
    Nullable(Type.String({ description: 'the domain of the project that the name goes to instead, with status 307' })),
  ),
})
export type AssignAlias = Static<typeof AssignAlias>
export const AssignedAlias = Type.Object({
  uid: Type.String(),
  alias: Type.String(),
  created: Type.String({ description: 'ISO 8601' }),
  oldDeploymentId: Nullable(Type.String({ description: 'where the name pointed until now' })),
})
export type AssignedAlias = Static<typeof AssignedAlias>
