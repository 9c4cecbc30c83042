/** Bodies and replies of a user's own tokens. docs/spec/wire.md 6: tokens. */
import { GRANT_DESCRIPTION, GRANT_PATTERN } from '../../platform/permissions/scopes.ts'
import { Type } from '../../platform/schema/builder.ts'
import { ChosenTime, OneOf, PageQuery, Pagination, Timestamp, Unsupported } from '../../platform/schema/fields.ts'

export const NewUserToken = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 100 }),
  expiresAt: Type.Optional(ChosenTime),
  projectIds: Type.Optional(Unsupported('name one project in `projectId`')),
  projectId: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'id or name: only this project' })),
  scopes: Type.Optional(
    Type.Array(Type.String({ pattern: GRANT_PATTERN, description: GRANT_DESCRIPTION }), { maxItems: 22 }),
  ),
})

const AuthToken = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.String(),
    origin: Type.String(),
    scopes: Type.Array(
      Type.Object({
        type: OneOf('user', 'team'),
        teamId: Type.Optional(Type.String()),
        origin: Type.String(),
        createdAt: Timestamp,
        expiresAt: Type.Optional(Timestamp),
      }),
    ),
    teamId: Type.Optional(Type.String()),
    projectIds: Type.Optional(Type.Array(Type.String(), { description: 'only these projects' })),
    granted: Type.Optional(Type.Array(Type.String(), { description: 'only these scopes' })),
    createdAt: Timestamp,
    activeAt: Type.Integer({ description: 'when it was last used, to the hour, at least the creation time' }),
    lastUsedAt: Type.Optional(Type.Integer({ description: 'to the hour; absent: not used within a year' })),
    expiresAt: Type.Optional(Timestamp),
  },
  { title: 'AuthToken' },
)

export const CreatedUserToken = Type.Object({
  token: AuthToken,
  bearerToken: Type.String({ description: 'shown this once' }),
})
export const UserTokenQuery = Type.Object(PageQuery)
export const UserTokenList = Type.Object({ tokens: Type.Array(AuthToken), pagination: Pagination })
export const OneUserToken = Type.Object({ token: AuthToken })
export const DeletedUserToken = Type.Object({ tokenId: Type.String() })
