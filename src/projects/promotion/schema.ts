/** Wire types for the last promote or rollback. docs/deployments.md. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, PageQuery, Pagination } from '../../platform/schema/fields.ts'

export const PromoteAliasesQuery = Type.Object({
  ...PageQuery,
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'only those made after this timestamp' })),
  failedOnly: Type.Optional(Type.Boolean({ description: '`true`: only the aliases that could not be mapped' })),
})
export type PromoteAliasesQuery = Static<typeof PromoteAliasesQuery>

const status = OneOf('pending', 'in-progress', 'completed', 'failed')
/** Empty without such a request. From `/v9` on, `alias` is an object, as the CLI expects. */
export const PromoteAliases = Type.Object({
  aliases: Type.Optional(
    Type.Array(
      Type.Object({
        id: Type.String(),
        alias: Type.Union([Type.String(), Type.Object({ alias: Type.String(), deploymentId: Type.String() })]),
        status,
      }),
    ),
  ),
  pagination: Type.Optional(Pagination),
})
export type PromoteAliases = Static<typeof PromoteAliases>
