/** Wire types for a domain of a project. Specification: Project domain; docs/spec/wire.md 2.7 for what every SDK decodes. */
import type { Static } from 'typebox'
import type { DomainSettings } from '../../config.ts'
import { REDIRECT_CODES, showRouting } from '../../model/domain.ts'
import { TargetName } from '../../model/environment.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'
import { type Challenge, challengeOf } from '../domain-verification/challenge.ts'

const Name = Type.String({ minLength: 1, description: 'a domain name; `*.` may be its first label' })
const RedirectCode = Type.Unsafe<(typeof REDIRECT_CODES)[number] | null>({
  type: ['integer', 'null'],
  enum: [...REDIRECT_CODES, null],
})
const Routing = {
  gitBranch: Type.Optional(Nullable(Type.String({ maxLength: 250, description: 'an empty one is as null' }))),
  redirect: Type.Optional(Nullable(Type.String({ description: 'a domain of the project; an empty one is as null' }))),
  redirectStatusCode: Type.Optional(RedirectCode),
  customEnvironmentId: Type.Optional(
    Nullable(Type.String({ maxLength: 100, description: 'the id or slug of a custom environment of the project' })),
  ),
}

export const AddDomain = Type.Object({ name: Name, ...Routing })
export type AddDomain = Static<typeof AddDomain>

export const UpdateDomain = Type.Object(Routing)
export type UpdateDomain = Static<typeof UpdateDomain>

export const MoveDomain = Type.Object({ projectId: Type.String({ minLength: 1, maxLength: 100 }), ...Routing })
export type MoveDomain = Static<typeof MoveDomain>

export const RemoveDomain = Type.Object({
  removeRedirects: Type.Optional(
    Type.Boolean({ description: 'also remove the domains of the project that redirect to this one' }),
  ),
})
export type RemoveDomain = Static<typeof RemoveDomain>

export const AddAlias = Type.Object({
  domain: Name,
  target: Type.Optional(OneOf('PRODUCTION')),
  redirect: Routing.redirect,
  redirectStatusCode: Routing.redirectStatusCode,
})
export type AddAlias = Static<typeof AddAlias>
export const RemoveAliasQuery = Type.Object({ domain: Name })

const since = Type.Optional(Type.Integer({ minimum: 0, description: 'only domains added after this timestamp' }))
export const ListDomainsQuery = Type.Object({
  ...PageQuery,
  since,
  order: Type.Optional(OneOf('ASC', 'DESC')),
  production: Switch('`true`: only domains without a gitBranch and a custom environment'),
  target: Type.Optional(TargetName),
  gitBranch: Type.Optional(Type.String({ maxLength: 250 })),
  redirects: Switch('`false`: leave out domains that redirect'),
  redirect: Type.Optional(Type.String({ maxLength: 300, description: 'only domains that redirect to this one' })),
  customEnvironmentId: Type.Optional(
    Type.String({ maxLength: 100, description: 'only domains of this one, by its id or slug' }),
  ),
  verified: Switch('only domains that are verified, or only those that are not'),
})
export type ListDomainsQuery = Static<typeof ListDomainsQuery>
export const ApexDomainsQuery = Type.Object({ ...PageQuery, since })
export type ApexDomainsQuery = Static<typeof ApexDomainsQuery>

export const ProjectDomain = Type.Object(
  {
    name: Type.String(),
    apexName: Type.String(),
    projectId: Type.String(),
    verified: Type.Boolean(),
    gitBranch: Nullable(Type.String()),
    redirect: Nullable(Type.String()),
    redirectStatusCode: RedirectCode,
    customEnvironmentId: Nullable(Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    verification: Type.Optional(
      Type.Array(
        Type.Object({ type: Type.String(), domain: Type.String(), value: Type.String(), reason: Type.String() }),
        { description: 'absent once verified' },
      ),
    ),
    checkedUntil: Type.Optional(
      Type.Integer({
        description:
          'until then Berth looks up the record without a request; absent once verified, or after the last time',
      }),
    ),
  },
  { title: 'ProjectDomain' },
)
export type ProjectDomain = Omit<Static<typeof ProjectDomain>, 'verification'> & { verification?: Challenge[] }

export const DomainList = Type.Object({ domains: Type.Array(ProjectDomain), pagination: Pagination })
export const ApexDomainList = Type.Object({ projectDomains: Type.Array(ProjectDomain), pagination: Pagination })

export const AliasList = Type.Array(
  Type.Object({
    domain: Type.String(),
    environment: OneOf('production'),
    target: OneOf('PRODUCTION'),
    createdAt: Timestamp,
    gitBranch: Nullable(Type.String()),
    redirect: Nullable(Type.String()),
    redirectStatusCode: RedirectCode,
  }),
)

export const DomainConfig = Type.Object({
  misconfigured: Type.Boolean(),
  configuredBy: Nullable(OneOf('CNAME', 'A')),
  acceptedChallenges: Type.Array(OneOf('http-01')),
  recommendedCNAME: Type.Array(Type.Object({ rank: Type.Integer(), value: Type.String() })),
  recommendedIPv4: Type.Array(Type.Object({ rank: Type.Integer(), value: Type.Array(Type.String()) })),
  serviceType: OneOf('external'),
  nameservers: Type.Array(Type.String(), { description: 'always empty, like the next three' }),
  cnames: Type.Array(Type.String()),
  aValues: Type.Array(Type.String()),
  conflicts: Type.Array(Type.Object({})),
})
export type DomainConfig = Static<typeof DomainConfig>

export const DomainAnswers = Type.Object({
  nameServers: Type.Array(
    Type.Object({
      state: OneOf('found', 'missing', 'other', 'no-answer'),
      seen: Nullable(Type.String({ description: 'what is there instead of the record, cut to 100 characters' })),
    }),
    { description: 'the first 4 in their order, each queried separately; empty for a domain that is verified' },
  ),
})
export type DomainAnswers = Static<typeof DomainAnswers>

/** Builds the response for a row. */
export function showDomain(row: Row<'project_domain'>, settings: DomainSettings): ProjectDomain {
  return {
    ...showRouting(row),
    projectId: row.project_id,
    createdAt: stampToMs(row.created_stamp),
    updatedAt: row.updated_at,
    ...(row.verified_at === null && {
      verification: [challengeOf(row, settings)],
      ...(row.check_due !== null && row.checked_until !== null && { checkedUntil: row.checked_until }),
    }),
  }
}

function Switch(description: string) {
  return Type.Optional(Type.Boolean({ description }))
}
