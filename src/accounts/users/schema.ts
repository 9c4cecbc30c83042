/** Replies of the operator's lists. docs/spec/operator-api.md: Users, lists and backups. */
import type { Static } from 'typebox'
import { ROLES } from '../../platform/permissions/roles.ts'
import { Type } from '../../platform/schema/builder.ts'
import { AccountName, Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'

const Plan = OneOf('hobby', 'pro', 'enterprise')
const Search = Type.Optional(Type.String({ maxLength: 100, description: 'part of a name, blind to case' }))
export const PeopleQuery = Type.Object({ ...PageQuery, search: Search })
export type PeopleQuery = Static<typeof PeopleQuery>
export const TokensQuery = Type.Object({
  ...PageQuery,
  search: Search,
  userId: Type.Optional(AccountName),
  unusedSince: Type.Optional(Type.Integer({ minimum: 0, description: 'not used since this time' })),
})
export type TokensQuery = Static<typeof TokensQuery>

const LastSeen = Nullable(Type.Integer({ description: 'to the hour; null: not within a year' }))
const Person = Type.Object({
  id: Type.String(),
  email: Type.String(),
  username: Type.String(),
  name: Nullable(Type.String()),
  plan: Plan,
  suspended: Type.Boolean(),
  operator: Type.Boolean(),
  secondFactor: Type.Boolean({ description: 'whether the user has one-time codes or a passkey' }),
  createdAt: Timestamp,
  lastSeenAt: LastSeen,
})
const TeamOf = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  plan: Plan,
  createdAt: Timestamp,
})
export const TokenOf = Type.Object({
  id: Type.String(),
  name: Nullable(Type.String()),
  userId: Type.String(),
  username: Nullable(Type.String()),
  teamId: Nullable(Type.String()),
  configurationId: Nullable(Type.String({ description: 'of an installation' })),
  scopes: Nullable(Type.Array(Type.String())),
  projectIds: Nullable(Type.Array(Type.String())),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  lastUsedAt: LastSeen,
})
export type TokenOf = Static<typeof TokenOf>

export const PersonList = Type.Object({ users: Type.Array(Person), pagination: Pagination })
export const OperatorTeamList = Type.Object({ teams: Type.Array(TeamOf), pagination: Pagination })
export const TokenList = Type.Object({ tokens: Type.Array(TokenOf), pagination: Pagination })

const Role = OneOf(...ROLES)
export const UserDetails = Type.Object({
  ...Person.properties,
  defaultTeamId: Nullable(Type.String()),
  teams: Type.Array(Type.Object({ id: Type.String(), slug: Type.String(), role: Role, placed: Type.Boolean() })),
  secondFactors: Type.Object({ oneTimeCodes: Type.Boolean(), passkeys: Type.Integer() }),
  sessions: Type.Array(
    Type.Object({
      createdAt: Timestamp,
      usedAt: Timestamp,
      expiresAt: Timestamp,
      agent: Nullable(Type.String({ description: 'the User-Agent of the sign-in' })),
      address: Nullable(Type.String({ description: 'the IP address of the sign-in' })),
    }),
  ),
  tokens: Type.Array(TokenOf, { description: 'the newest 100; never a value' }),
})
export const TeamDetails = Type.Object({
  ...TeamOf.properties,
  projectCount: Type.Integer(),
  softBlocked: Type.Boolean(),
  paymentMissing: Type.Boolean(),
  members: Type.Array(
    Type.Object({
      userId: Type.String(),
      username: Type.String(),
      email: Type.String(),
      role: Role,
      placed: Type.Boolean({ description: 'by the operator, and never accepted' }),
    }),
    { description: 'the newest 1000' },
  ),
})
export const RevokeToken = Type.Object({ token: Type.String({ minLength: 1, maxLength: 512 }) })
export const ForceQuery = Type.Object({
  force: Type.Optional(Type.Boolean({ description: 'also with projects, and as the last OWNER' })),
})
export type ForceQuery = Static<typeof ForceQuery>
