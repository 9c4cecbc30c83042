/** Permissions of the five team roles. docs/spec/decisions.md: Accounts, actors, permissions. */

export const ROLES = ['OWNER', 'MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING'] as const
export type Role = (typeof ROLES)[number]

/** Whether a member with this role can own installations. docs/spec/decisions.md: Integrations. */
export function canOwnInstallations(role: Role): boolean {
  return role === 'OWNER' || role === 'MEMBER'
}

export const PERMISSIONS = [
  'project:read',
  'project:write',
  'project:delete',
  /** Transfer a project to another account. Users only: no scope grants it. */
  'project:transfer',
  'project:receive',
  'domain:read',
  'domain:write',
  'env:read',
  'env:write',
  'env:decrypt',
  /** See, and change, variables of other users. */
  'env:all',
  'env:write-all',
  'env:production',
  'deployment:read',
  'deployment:write',
  'team:read',
  /** Change a team's settings and members. Users only: no scope grants it. */
  'team:write',
  'member:write',
  /** Join or leave a team. Users only: no scope grants it. */
  'member:leave',
  /** Personal tokens of the user. Users only: no scope grants it. */
  'token:read',
  'token:write',
  'billing:write',
  'installation:read',
  'installation:write',
  /** Limit an installation to projects, and become its owner. Users only: no scope grants it. */
  'installation:grant',
  /** Integrations registered by a team. Users only: no scope grants it. */
  'integration:read',
  'integration:write',
  'webhook:read',
  'webhook:write',
  'drain:read',
  'drain:write',
  'user:read',
] as const
export type Permission = (typeof PERMISSIONS)[number]

const account: Permission[] = ['team:read', 'member:leave', 'token:read', 'token:write', 'user:read']
const read: Permission[] = [
  ...account,
  'project:read',
  'domain:read',
  'env:read',
  'env:all',
  'deployment:read',
  'installation:read',
  'integration:read',
  'webhook:read',
  'drain:read',
]
const develop: Permission[] = [
  ...read,
  'project:write',
  'project:receive',
  'domain:write',
  'env:write',
  'env:write-all',
  'env:decrypt',
  'deployment:write',
]

export const ROLE_PERMISSIONS: Record<Role, readonly Permission[]> = {
  OWNER: PERMISSIONS,
  MEMBER: [...develop, 'project:delete', 'project:transfer', 'env:production', 'webhook:write', 'drain:write'],
  DEVELOPER: develop,
  VIEWER: read,
  BILLING: account,
}
