/** What callers send and get for integrations and their installations. docs/spec/wire.md 6; docs/spec/operator-api.md. */
import type { Static } from 'typebox'
import { Named } from '../accounts/schema.ts'
import { GRANT_PATTERN, GRANT_WORDS } from '../permissions/scopes.ts'
import { Type } from '../schema/builder.ts'
import { Moment, Nullable, OneOf, PageQuery, Pagination } from '../schema/fields.ts'

const Id = Type.String({ minLength: 1, maxLength: 64 })
const Url = Type.String({ minLength: 1, maxLength: 2000 })
const Scopes = Type.Array(Type.String({ pattern: GRANT_PATTERN, description: GRANT_WORDS }), {
  maxItems: 11,
  description: 'each scope once',
})

/** Words that begin other paths below /integrations, where the page to install stands at /integrations/<slug>/new. */
const RESERVED_SLUGS = 'apps|configuration|configurations|confirm|installed|log-drains|new'
const Slug = Type.String({
  pattern: `^(?!(${RESERVED_SLUGS})$)[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$`,
  description: 'lower case letters, digits and -; up to 48',
})

const changeable = {
  name: Type.String({ minLength: 1, maxLength: 100 }),
  redirectUrl: Url,
  scopes: Scopes,
}
const optional = { webhookUrl: Type.Optional(Nullable(Url)), logoUrl: Type.Optional(Nullable(Url)) }

export const NewIntegration = Type.Object({ slug: Slug, ...changeable, ...optional })
export type NewIntegration = Static<typeof NewIntegration>
export const NewIntegrationOf = Type.Object({ ...NewIntegration.properties, teamId: Named })
export type NewIntegrationOf = Static<typeof NewIntegrationOf>

export const PatchIntegration = Type.Object({
  name: Type.Optional(changeable.name),
  redirectUrl: Type.Optional(Url),
  scopes: Type.Optional(Scopes),
  ...optional,
})
export type PatchIntegration = Static<typeof PatchIntegration>

const shownOnce = Type.String({ description: 'shown this once' })
export const MadeIntegration = Type.Object({
  id: Type.String(),
  clientId: Type.String(),
  clientSecret: shownOnce,
  secretId: Type.String(),
})
export const MadeSecret = Type.Object({ id: Type.String(), clientSecret: shownOnce })

export const Integration = Type.Object(
  {
    id: Type.String(),
    clientId: Type.String(),
    teamId: Type.String(),
    slug: Type.String(),
    name: Type.String(),
    redirectUrl: Type.String(),
    webhookId: Nullable(Type.String({ description: 'for `/v1/webhooks/{id}/deliveries`' })),
    webhookUrl: Nullable(Type.String()),
    logoUrl: Nullable(Type.String()),
    scopes: Type.Array(Type.String()),
    secrets: Type.Array(Type.Object({ id: Type.String(), createdAt: Moment })),
    installUrl: Type.String({ description: 'where a person installs it' }),
    createdAt: Moment,
    updatedAt: Moment,
  },
  { title: 'Integration' },
)
export type Integration = Static<typeof Integration>

export const IntegrationsQuery = Type.Object(PageQuery)
export type IntegrationsQuery = Static<typeof IntegrationsQuery>
export const IntegrationsOfQuery = Type.Object({ ...PageQuery, teamId: Type.Optional(Named) })
export type IntegrationsOfQuery = Static<typeof IntegrationsOfQuery>
export const IntegrationList = Type.Object({ integrations: Type.Array(Integration), pagination: Pagination })

/** `projects`: "all", or the ids of some. */
export const NewInstallation = Type.Object({
  userId: Named,
  teamId: Type.Optional(Named),
  projects: Type.Union([Type.Literal('all'), Type.Array(Id, { minItems: 1, maxItems: 1000 })]),
})
export type NewInstallation = Static<typeof NewInstallation>
export const MadeInstallation = Type.Object({ configurationId: Type.String(), code: shownOnce })

export const Configuration = Type.Object(
  {
    id: Type.String(),
    type: OneOf('integration-configuration'),
    integrationId: Type.String(),
    ownerId: Type.String({ description: 'the account that it is on' }),
    slug: Type.String({ description: 'of the integration' }),
    userId: Type.String({ description: 'who installed it, or took it over' }),
    teamId: Nullable(Type.String()),
    scopes: Type.Array(Type.String(), { description: 'what was granted' }),
    pendingScopes: Type.Array(Type.String(), {
      description: 'what the integration asks beyond that, at the level it would have; it waits for a confirmation',
    }),
    projects: Type.Optional(Type.Array(Type.String(), { description: 'absent: all' })),
    projectSelection: OneOf('all', 'selected'),
    source: OneOf('marketplace', 'deploy-button', 'external'),
    installationType: OneOf('marketplace', 'external'),
    createdAt: Moment,
    updatedAt: Moment,
    completedAt: Type.Optional(Moment),
    disabledAt: Type.Optional(Moment),
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

export const ProjectAccess = Type.Object({ allowed: Type.Boolean() })
export type ProjectAccess = Static<typeof ProjectAccess>

/** What waits, as the person who confirms has seen it. */
export const ConfirmScopes = Type.Object({ scopes: Scopes })
