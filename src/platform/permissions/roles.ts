/** What the five roles of a team may do. docs/spec/decisions.md: Accounts, actors, permissions. */

export const ROLES = ['OWNER', 'MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING'] as const
export type Role = (typeof ROLES)[number]

/** Whether a member with this role may own installations. docs/spec/decisions.md: Integrations. */
export function canOwnInstallations(role: Role): boolean {
  return role === 'OWNER' || role === 'MEMBER'
}

export const PERMISSIONS = [
  'project:read',
  'project:write',
  'project:delete',
  /** To give a project, with all that it holds, to another account: persons only, no scope opens it. */
  'project:transfer',
  'project:receive',
  'domain:read',
  'domain:write',
  'env:read',
  'env:write',
  'env:decrypt',
  /** To see the variables that others made; and to change them. */
  'env:all',
  'env:write-all',
  'env:production',
  'deployment:read',
  'deployment:write',
  'team:read',
  /** A team's settings and who is in it: persons only, no scope opens it. */
  'team:write',
  'member:write',
  /** To join or leave a team: persons only, no scope opens it. */
  'member:leave',
  /** The personal tokens of the user: persons only, no scope opens it. */
  'token:read',
  'token:write',
  'billing:write',
  'installation:read',
  'installation:write',
  /** To say what an installation may see, and to take it over: persons only, no scope opens it. */
  'installation:grant',
  /** The integrations that a team registers: persons only, no scope opens it. */
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
