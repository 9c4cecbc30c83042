/** What people send and get for the members of a team, those who see a project, and the settings of a team. docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import { ROLES } from '../../platform/permissions/roles.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp, Unsupported } from '../../platform/schema/fields.ts'
import { Email, Id, Name, Preference, Slug, TeamSettings } from '../accounts/schema.ts'

const TeamRole = OneOf(...ROLES)
/** Berth has no roles in single projects, and no groups: team-members.ts refuses a list that names some. docs/accounts.md: Who changes members. */
const Nothing = Type.Optional(
  Type.Array(Type.Unknown(), { maxItems: 1000, description: 'empty: a role is of the team, not of a project' }),
)

const Invitation = Type.Object({
  email: Type.Optional(Email),
  uid: Type.Optional(Id),
  role: Type.Optional(TeamRole),
  projects: Nothing,
  accessGroups: Nothing,
})
/** Newer SDKs send a list, of which one is taken: their answer is one member. */
export const InviteMember = Type.Union([Invitation, Type.Array(Invitation, { minItems: 1, maxItems: 1 })])
export type InviteMember = Static<typeof InviteMember>

export const InvitedMember = Type.Object({
  uid: Type.String({ description: 'of the user; of the invitation where nobody has the address yet' }),
  username: Type.String(),
  email: Type.String(),
  role: TeamRole,
  inviteUrl: Type.Optional(
    Type.String({ description: 'where no mail server is set: hand it to the person, who answers there' }),
  ),
})

export const PatchMember = Type.Object({
  role: Type.Optional(TeamRole),
  confirmed: Type.Optional(
    Type.Boolean({ description: 'only true, and only of a member: an invited person confirms it by accepting' }),
  ),
  projects: Nothing,
  teamPermissions: Nothing,
  accessGroupsToAdd: Nothing,
  accessGroupsToRemove: Nothing,
})
export type PatchMember = Static<typeof PatchMember>
export const ChangedMember = Type.Object({ id: Type.String({ description: 'of the team' }) })

const Search = Type.Optional(
  Type.String({ maxLength: 100, description: 'part of name, username or email, blind to case' }),
)
const range = { ...PageQuery, since: Type.Optional(Type.Integer({ minimum: 0 })), search: Search }
export const MembersQuery = Type.Object({
  ...range,
  role: Type.Optional(TeamRole),
  filterByUserIds: Type.Optional(Type.String({ maxLength: 5000, description: 'ids with commas between' })),
})
export type MembersQuery = Static<typeof MembersQuery>

const MemberPages = Type.Object({ ...Pagination.properties, hasNext: Type.Boolean() })
const person = {
  uid: Type.String(),
  email: Type.String(),
  username: Type.String(),
  name: Type.Optional(Type.String()),
  createdAt: Timestamp,
}
export const MemberList = Type.Object({
  members: Type.Array(Type.Object({ ...person, role: TeamRole, confirmed: Type.Boolean() })),
  pagination: MemberPages,
})

export const ProjectRole = OneOf('ADMIN', 'PROJECT_DEVELOPER', 'PROJECT_VIEWER')
export const ProjectMembersQuery = Type.Object(range)
export type ProjectMembersQuery = Static<typeof ProjectMembersQuery>
export const ProjectMemberList = Type.Object({
  members: Type.Array(
    Type.Object({ ...person, role: ProjectRole, computedProjectRole: ProjectRole, teamRole: TeamRole }),
  ),
  pagination: MemberPages,
})

/** A member has the role of the team in every project: there is nothing to list. */
export const MemberProjects = Type.Object({
  projects: Type.Array(Type.Object({ projectId: Type.String(), role: ProjectRole })),
  pagination: Pagination,
})

const NOT_HAD = {
  avatar: 'Berth keeps no images of teams',
  emailDomain: 'nobody becomes a member by an address',
  hideIpAddresses: 'what drains get is what the build system hands in',
  hideIpAddressesInLogDrains: 'what drains get is what the build system hands in',
  regenerateInviteCode: 'people are invited one by one',
  saml: 'people of all teams sign in by the one OpenID provider that the operator set, if any',
  requireVerifiedCommits: 'commits are checked by the build system; say it in `gitProviderOptions` of each project',
  disableRepositoryDispatchEvents: 'say it in `gitProviderOptions` of each project',
  disjunctiveProductionSecretPolicy: 'who reads secrets of production follows from the role',
  dpAccessRequestsMode: 'nobody asks for access to a protected deployment',
  defaultDeploymentProtection: 'each project says its protection',
  defaultPassport: 'Berth has no such connectors',
  defaultExpirationSettings: 'say it of each project: PATCH /v9/projects/{idOrName}/deployment-expiration',
  deploymentPolicy: 'what is deployed is decided by the build system',
  strictDeploymentProtectionSettings: 'who may write a project may change its protection',
  strictShareableLinks: 'Berth makes no shareable links',
  strictPasswordProtectionSettings: 'who may write a project may change its protection',
  strictConnectors: 'Berth has no such connectors',
  nsnbConfig: 'builds are made elsewhere',
  defaultProjectJobs: 'builds are made elsewhere',
  resourceConfig: 'say it in `resourceConfig` of each project',
} as const

export const PatchTeam = Type.Object({
  name: Type.Optional(Name),
  slug: Type.Optional(Slug),
  description: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  sensitiveEnvironmentVariablePolicy: Type.Optional(Preference),
  requireSecondFactor: Type.Optional(
    Type.Boolean({ description: 'shuts out members without a second factor; the caller needs one' }),
  ),
  ...TeamSettings.properties,
  ...Object.fromEntries(Object.entries(NOT_HAD).map(([name, why]) => [name, Type.Optional(Unsupported(why))])),
})
export type PatchTeam = Static<typeof PatchTeam>
