/** Wire types for domains of an account. docs/spec/client-requests.md B.3; the shapes that the SDKs of docs/spec/wire.md 4 decode. */
import type { Static } from 'typebox'
import type { Account } from '../../context.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp } from '../../platform/schema/fields.ts'
import type { Challenge } from '../domain-verification/challenge.ts'

const since = Type.Optional(Type.Integer({ minimum: 0, description: 'only domains added after this timestamp' }))
export const ListAccountDomainsQuery = Type.Object({ ...PageQuery, since })
export type ListAccountDomainsQuery = Static<typeof ListAccountDomainsQuery>

export const AddAccountDomain = Type.Object({
  name: Type.String({ minLength: 1, description: 'an apex, such as example.com' }),
  method: Type.Optional(
    Type.Unsafe<'add'>({
      type: 'string',
      enum: ['add'],
      description: 'Berth is not a registrar: nothing is transferred in',
    }),
  ),
})
export type AddAccountDomain = Static<typeof AddAccountDomain>

export const AccountDomain = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'an apex' }),
    verified: Type.Boolean({ description: 'unclaimed names under it are verified as soon as they are added' }),
    verification: Type.Optional(
      Type.Array(
        Type.Object({ type: Type.String(), domain: Type.String(), value: Type.String(), reason: Type.String() }),
        { description: 'of a domain that was added to the account and is not verified' },
      ),
    ),
    suffix: Type.Boolean({ description: "the platform's own, under which every account can take a label" }),
    serviceType: OneOf('external'),
    nameservers: Type.Array(Type.String()),
    intendedNameservers: Type.Array(Type.String()),
    creator: Type.Object({ id: Type.String(), username: Type.String(), email: Type.String() }),
    userId: Type.String(),
    teamId: Nullable(Type.String()),
    createdAt: Timestamp,
    boughtAt: Type.Null(),
    expiresAt: Type.Null(),
    echMode: OneOf('disabled'),
    renew: Type.Boolean(),
  },
  { title: 'AccountDomain' },
)
export type AccountDomain = Static<typeof AccountDomain>

export const AccountDomainReply = Type.Object({ domain: AccountDomain })
export const AccountDomainList = Type.Object({ domains: Type.Array(AccountDomain), pagination: Pagination })
export const VerificationRecord = Type.Object({ txtRecord: Type.String(), verificationDomain: Type.String() })

export type AccountDomainState = {
  name: string
  createdAt: number
  verified: boolean
  challenge: Challenge | undefined
}

/** Returns the id of a domain: its name, in characters that ids have. */
export function accountDomainId(name: string): string {
  return `dom_${Buffer.from(name).toString('base64url')}`
}

/** Builds the response for one domain. The account is shown as its creator (docs/decisions/0040). DNS is hosted elsewhere. */
export function showAccountDomain(
  { name, createdAt, verified, challenge }: AccountDomainState,
  account: Account,
): AccountDomain {
  return {
    ...show(name),
    verified,
    ...(challenge !== undefined && !verified && { verification: [challenge] }),
    creator: { id: account.id, username: account.slug, email: '' },
    userId: account.id,
    teamId: account.kind === 'team' ? account.id : null,
    createdAt,
  }
}

/** Builds the response for the platform's domain, which every account can use and no list contains. */
export function showPlatformDomain(name: string): AccountDomain {
  const platform = { verified: true, suffix: true, userId: '', teamId: null, createdAt: 0 }
  return { ...show(name), ...platform, creator: { id: '', username: 'platform', email: '' } }
}

function show(name: string) {
  return {
    id: accountDomainId(name),
    name,
    suffix: false,
    serviceType: 'external' as const,
    nameservers: [],
    intendedNameservers: [],
    boughtAt: null,
    expiresAt: null,
    echMode: 'disabled' as const,
    renew: false,
  }
}
