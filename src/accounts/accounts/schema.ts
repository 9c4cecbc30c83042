import type { Static } from 'typebox'
import { ROLES } from '../../platform/permissions/roles.ts'
import { GRANT_DESCRIPTION, GRANT_PATTERN } from '../../platform/permissions/scopes.ts'
import { Type } from '../../platform/schema/builder.ts'
import {
  AccountName,
  ChosenTime,
  Nullable,
  OneOf,
  PageQuery,
  Pagination,
  Timestamp,
} from '../../platform/schema/fields.ts'

export const Slug = Type.String({
  pattern: '^(?!(usr|team|prj)_)[a-z0-9][a-z0-9._-]{0,47}$',
  description: 'lower-case letters, digits, . _ -',
})
/** No line breaks and no direction marks: names are shown in emails, lists and terminals. Joiners stay, because scripts and emoji need them. */
export const Name = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$',
  description: 'visible characters in one line',
})
export const Id = Type.String({ minLength: 1, maxLength: 64 })
const Plan = OneOf('hobby', 'pro', 'enterprise')

/** One plain address. Excludes the ohm, kelvin and ångström signs: lower-casing would turn them into letters of another user's address. */
const PART = '[^\\s<>()[\\]\\\\,;:"@\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u2000-\\u206f\\u2126\\u212A\\u212B\\ufeff]'
const EMAIL = new RegExp(`^${PART}{1,64}@${PART}{1,189}$`)
const EMAIL_LENGTH = 254
export const Email = Type.String({ pattern: EMAIL.source, maxLength: EMAIL_LENGTH, description: 'an email address' })

/** Whether a text from outside a request is a valid `Email`. */
export function isEmail(text: string): boolean {
  return text.length <= EMAIL_LENGTH && EMAIL.test(text)
}

export const NewUser = Type.Object({
  email: Email,
  username: Slug,
  name: Type.Optional(Name),
})
export type NewUser = Static<typeof NewUser>

export const PatchUser = Type.Object({
  email: Type.Optional(Email),
  username: Type.Optional(Slug),
  name: Type.Optional(Name),
  defaultTeamId: Type.Optional(Nullable(AccountName)),
  suspended: Type.Optional(Type.Boolean()),
  operator: Type.Optional(Type.Boolean({ description: 'whether the pages of operators are open to them' })),
})
export type PatchUser = Static<typeof PatchUser>

export const OperatorUser = Type.Object({
  id: Type.String(),
  email: Type.String(),
  username: Type.String(),
  name: Nullable(Type.String()),
  defaultTeamId: Nullable(Type.String()),
  suspended: Type.Boolean(),
  operator: Type.Boolean(),
})

export const CreatedPasswordLink = Type.Object({ url: Type.String(), expiresAt: Timestamp })

export const NewTeam = Type.Object({ slug: Slug, name: Name, ownerId: AccountName, plan: Type.Optional(Plan) })
export type NewTeam = Static<typeof NewTeam>
export const OperatorTeam = Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String(), plan: Plan })

export const SetMember = Type.Object({ role: OneOf(...ROLES) })
export type SetMember = Static<typeof SetMember>
export const Member = Type.Object({ teamId: Type.String(), userId: Type.String(), role: OneOf(...ROLES) })

const ADD_ONS = ['advanced-deployment-protection'] as const
export const PatchAccount = Type.Object({
  plan: Type.Optional(Plan),
  softBlocked: Type.Optional(Type.Boolean()),
  paymentMissing: Type.Optional(Type.Boolean()),
  addOns: Type.Optional(Type.Array(OneOf(...ADD_ONS), { maxItems: ADD_ONS.length })),
})
export type PatchAccount = Static<typeof PatchAccount>
export const OperatorAccount = Type.Object({
  id: Type.String(),
  plan: Plan,
  softBlocked: Type.Boolean(),
  paymentMissing: Type.Boolean(),
  addOns: Type.Array(Type.String()),
})

export const NewToken = Type.Object({
  userId: AccountName,
  name: Type.Optional(Name),
  teamId: Type.Optional(AccountName),
  scopes: Type.Optional(
    Type.Array(Type.String({ pattern: GRANT_PATTERN, description: GRANT_DESCRIPTION }), { maxItems: 22 }),
  ),
  projectIds: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 1000 })),
  expiresAt: Type.Optional(ChosenTime),
})
export type NewToken = Static<typeof NewToken>
export const CreatedToken = Type.Object({ id: Type.String(), token: Type.String({ description: 'shown this once' }) })

export const Preference = OneOf('on', 'off', 'default')
/** Team settings that Berth stores and returns without using them. */
export const TeamSettings = Type.Object({
  previewDeploymentSuffix: Type.Optional(Nullable(Type.String({ maxLength: 253 }))),
  enablePreviewFeedback: Type.Optional(Preference),
  enableProductionFeedback: Type.Optional(Preference),
  remoteCaching: Type.Optional(Type.Object({ enabled: Type.Boolean() })),
})

/**
 * Every SDK version decodes these as a complete user and team. The CLI switches to a `limited` one only after a new sign-in.
 * docs/spec/client-requests.md B.3
 */
export const User = Type.Object({
  user: Type.Object({
    id: Type.String(),
    email: Type.String(),
    name: Nullable(Type.String()),
    username: Type.String(),
    avatar: Nullable(Type.String()),
    defaultTeamId: Nullable(Type.String()),
    version: Nullable(Type.String()),
    createdAt: Timestamp,
    softBlock: Nullable(Type.Object({ blockedAt: Timestamp, reason: Type.String() })),
    billing: Nullable(Type.Object({})),
    resourceConfig: Type.Object({}),
    stagingPrefix: Type.String(),
    hasTrialAvailable: Type.Boolean(),
  }),
})

export const Team = Type.Object(
  {
    id: Type.String(),
    slug: Type.String(),
    name: Type.String(),
    avatar: Nullable(Type.String()),
    // SDK 1.7 rejects a team without it.
    limited: Type.Boolean(),
    billing: Type.Object({ plan: Plan }),
    created: Type.String({ description: 'ISO 8601' }),
    createdAt: Timestamp,
    updatedAt: Type.Integer({ description: 'creation time; changes are in the audit log' }),
    creatorId: Type.String({ description: 'the id of the team itself' }),
    stagingPrefix: Type.String(),
    limitedBy: Type.Array(Type.String()),
    description: Nullable(Type.String()),
    sensitiveEnvironmentVariablePolicy: Nullable(Preference),
    requireSecondFactor: Type.Boolean({ description: 'whether members need a second factor' }),
    hideIpAddresses: Type.Boolean(),
    hideIpAddressesInLogDrains: Type.Boolean(),
    ...TeamSettings.properties,
    membership: Type.Object({
      role: OneOf(...ROLES),
      confirmed: Type.Boolean(),
      confirmedAt: Timestamp,
      created: Timestamp,
      createdAt: Timestamp,
    }),
  },
  { title: 'Team' },
)

export const TeamsQuery = Type.Object({
  ...PageQuery,
  since: Type.Optional(Type.Integer({ minimum: 0 })),
  slug: Type.Optional(Type.String({ maxLength: 100, description: 'the team to list alone, by slug' })),
})
export type TeamsQuery = Static<typeof TeamsQuery>
export const TeamList = Type.Object({ teams: Type.Array(Team), pagination: Pagination })
