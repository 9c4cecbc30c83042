/** Bodies and replies of integrations. docs/spec/wire.md 6; docs/spec/operator-api.md. */
import type { Static } from 'typebox'
import { GRANT_DESCRIPTION, GRANT_PATTERN } from '../../platform/permissions/scopes.ts'
import { Type } from '../../platform/schema/builder.ts'
import { AccountName, Nullable, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'

const Url = Type.String({ minLength: 1, maxLength: 2000 })
export const Scopes = Type.Array(Type.String({ pattern: GRANT_PATTERN, description: GRANT_DESCRIPTION }), {
  maxItems: 11,
  description: 'each scope once',
})

/** Start of other paths below /integrations. The consent page has the path /integrations/<slug>/new. */
const RESERVED_SLUGS = 'apps|configuration|configurations|confirm|installed|log-drains|new'
const Slug = Type.String({
  pattern: `^(?!(${RESERVED_SLUGS})$)[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?$`,
  description: 'lower-case letters, digits and -; up to 48',
})

const changeable = {
  name: Type.String({ minLength: 1, maxLength: 100 }),
  redirectUrl: Url,
  scopes: Scopes,
}
const optional = { webhookUrl: Type.Optional(Nullable(Url)), logoUrl: Type.Optional(Nullable(Url)) }

export const NewIntegration = Type.Object({ slug: Slug, ...changeable, ...optional })
export type NewIntegration = Static<typeof NewIntegration>
export const NewTeamIntegration = Type.Object({ ...NewIntegration.properties, teamId: AccountName })
export type NewTeamIntegration = Static<typeof NewTeamIntegration>

export const PatchIntegration = Type.Object({
  name: Type.Optional(changeable.name),
  redirectUrl: Type.Optional(Url),
  scopes: Type.Optional(Scopes),
  ...optional,
})
export type PatchIntegration = Static<typeof PatchIntegration>

const shownOnce = Type.String({ description: 'shown this once' })
export const CreatedIntegration = Type.Object({
  id: Type.String(),
  clientId: Type.String(),
  clientSecret: shownOnce,
  secretId: Type.String(),
})
export const CreatedClientSecret = Type.Object({ id: Type.String(), clientSecret: shownOnce })

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
    secrets: Type.Array(Type.Object({ id: Type.String(), createdAt: Timestamp })),
    installUrl: Type.String({ description: 'the page that installs it' }),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Integration' },
)
export type Integration = Static<typeof Integration>

export const IntegrationsQuery = Type.Object(PageQuery)
export type IntegrationsQuery = Static<typeof IntegrationsQuery>
export const IntegrationsOfQuery = Type.Object({ ...PageQuery, teamId: Type.Optional(AccountName) })
export type IntegrationsOfQuery = Static<typeof IntegrationsOfQuery>
export const IntegrationList = Type.Object({ integrations: Type.Array(Integration), pagination: Pagination })
