/** Bodies and replies for members, project members and team settings. docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import { ROLES } from '../../platform/permissions/roles.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf, PageQuery, Pagination, Timestamp, Unsupported } from '../../platform/schema/fields.ts'
import { Email, Id, Name, Preference, Slug, TeamSettings } from '../accounts/schema.ts'

const TeamRole = OneOf(...ROLES)
/** Berth has no project roles and no groups: team-members.ts refuses a list that names some. docs/accounts.md: Who changes members. */
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
/** Newer SDKs send a list. Berth accepts one entry, because their response is one member. */
export const InviteMember = Type.Union([Invitation, Type.Array(Invitation, { minItems: 1, maxItems: 1 })])
export type InviteMember = Static<typeof InviteMember>

export const InvitedMember = Type.Object({
  uid: Type.String({ description: 'of the user; of the invitation if no user has the address' }),
  username: Type.String(),
  email: Type.String(),
  role: TeamRole,
  inviteUrl: Type.Optional(
    Type.String({ description: 'without a mail server: send it to the user, who answers there' }),
  ),
})

export const PatchMember = Type.Object({
  role: Type.Optional(TeamRole),
  confirmed: Type.Optional(
    Type.Boolean({ description: 'only true, and only for a member: an invited user confirms by accepting' }),
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
  members: Type.Array(
    Type.Object({
      ...person,
      role: TeamRole,
      confirmed: Type.Boolean(),
      secondFactor: Type.Optional(
        Type.Boolean({ description: 'whether a member has one-time codes or a passkey; only for an OWNER' }),
      ),
    }),
  ),
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

/** A member has the team role in every project, so this list is empty. */
export const MemberProjects = Type.Object({
  projects: Type.Array(Type.Object({ projectId: Type.String(), role: ProjectRole })),
  pagination: Pagination,
})

const NOT_HAD = {
  avatar: 'Berth stores no team images',
  emailDomain: 'Berth adds no members by email domain',
  hideIpAddresses: 'drains receive the lines as the build system sends them',
  hideIpAddressesInLogDrains: 'drains receive the lines as the build system sends them',
  regenerateInviteCode: 'users are invited individually',
  saml: 'users of all teams sign in with the OpenID provider that the operator set, if any',
  requireVerifiedCommits: 'the build system checks commits; set it in `gitProviderOptions` of each project',
  disableRepositoryDispatchEvents: 'set it in `gitProviderOptions` of each project',
  disjunctiveProductionSecretPolicy: 'the role decides who reads production secrets',
  dpAccessRequestsMode: 'Berth has no access requests for protected deployments',
  defaultDeploymentProtection: 'set the protection of each project',
  defaultPassport: 'Berth has no such connectors',
  defaultExpirationSettings: 'set it for each project: PATCH /v9/projects/{idOrName}/deployment-expiration',
  deploymentPolicy: 'the build system decides what is deployed',
  strictDeploymentProtectionSettings: 'writers of a project may change its protection',
  strictShareableLinks: 'Berth has no shareable links',
  strictPasswordProtectionSettings: 'writers of a project may change its protection',
  strictConnectors: 'Berth has no such connectors',
  nsnbConfig: 'Berth receives no pushes: any deployer may build',
  defaultProjectJobs: 'Berth runs no jobs other than the build of a deployment',
  resourceConfig: 'set it in `resourceConfig` of each project',
} as const

export const PatchTeam = Type.Object({
  name: Type.Optional(Name),
  slug: Type.Optional(Slug),
  description: Type.Optional(Nullable(Type.String({ maxLength: 500 }))),
  sensitiveEnvironmentVariablePolicy: Type.Optional(Preference),
  requireSecondFactor: Type.Optional(
    Type.Boolean({ description: 'locks out members without a second factor; the caller needs one' }),
  ),
  ...TeamSettings.properties,
  ...Object.fromEntries(Object.entries(NOT_HAD).map(([name, why]) => [name, Type.Optional(Unsupported(why))])),
})
export type PatchTeam = Static<typeof PatchTeam>
