/** Bodies and replies of installations. docs/spec/wire.md 6; docs/spec/operator-api.md. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'
import { Scopes } from '../integrations/schema.ts'

export const Configuration = Type.Object(
  {
    id: Type.String(),
    type: OneOf('integration-configuration'),
    integrationId: Type.String(),
    ownerId: Type.String({ description: 'the account that it is on' }),
    slug: Type.String({ description: 'of the integration' }),
    userId: Type.String({ description: 'who installed it, or took ownership of it' }),
    teamId: Nullable(Type.String()),
    scopes: Type.Array(Type.String(), { description: 'the granted scopes' }),
    pendingScopes: Type.Array(Type.String(), {
      description: 'pending scopes: requested beyond the granted ones, at the level they would have',
    }),
    projects: Type.Optional(Type.Array(Type.String(), { description: 'absent: all; in a list also more than 1,000' })),
    projectSelection: OneOf('all', 'selected'),
    source: OneOf('marketplace', 'deploy-button', 'external'),
    installationType: OneOf('marketplace', 'external'),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    completedAt: Type.Optional(Timestamp),
    disabledAt: Type.Optional(Timestamp),
    disabledReason: Type.Optional(
      OneOf('original-owner-left-the-team', 'original-owner-role-downgraded', 'disabled-by-admin'),
    ),
    integration: Type.Object({
      name: Type.String(),
      icon: Type.String({ description: 'the URL of its logo, or empty' }),
      category: Type.String(),
      isLegacy: Type.Boolean(),
      slug: Type.String(),
    }),
  },
  { title: 'Configuration' },
)
export type Configuration = Static<typeof Configuration>

export const ConfigurationsQuery = Type.Object({
  view: Type.Optional(OneOf('account', 'project')),
  installationType: Type.Optional(OneOf('marketplace', 'external')),
  integrationIdOrSlug: Type.Optional(Type.String()),
})
export type ConfigurationsQuery = Static<typeof ConfigurationsQuery>

export const InstallationsOfQuery = Type.Object(PageQuery)
/** The team that runs an integration sees of an installation what its token would show. */
export const InstallationsOf = Type.Object({
  installations: Type.Array(
    Type.Object({
      id: Type.String(),
      ownerId: Type.String({ description: 'the account that it is on' }),
      scopes: Type.Array(Type.String()),
      pendingScopes: Type.Array(Type.String()),
      projectSelection: OneOf('all', 'selected'),
      createdAt: Timestamp,
      completedAt: Nullable(Type.Integer({ description: 'when the app exchanged its first code' })),
      disabledAt: Nullable(Timestamp),
    }),
  ),
  pagination: Pagination,
})

export const ProjectAccess = Type.Object({ allowed: Type.Boolean() })
export type ProjectAccess = Static<typeof ProjectAccess>

/** The pending scopes that the user saw. */
export const ConfirmScopes = Type.Object({ scopes: Scopes })
