/** The eleven scopes of the specification and their permissions. Specification: Scopes. */
import { PERMISSIONS, type Permission, ROLE_PERMISSIONS, type Role } from './roles.ts'

export const SCOPES = [
  'integration-configuration',
  'deployment',
  'deployment-check',
  'edge-config',
  'project',
  'project-env-vars',
  'global-project-env-vars',
  'team',
  'user',
  'log-drain',
  'domain',
] as const
export type Scope = (typeof SCOPES)[number]

/** Format of a granted scope: `read:project`, `read-write:domain`. */
export const GRANT_DESCRIPTION = `read or read-write, a colon and a scope: ${SCOPES.join(', ')}`
export const GRANT_PATTERN = `^(read|read-write):(${SCOPES.join('|')})$`

/** Returns the scopes of a row: requested by an integration, or granted to an installation. */
export function scopesOf({ scopes_json }: { scopes_json: string }): string[] {
  return JSON.parse(scopes_json) as string[]
}

type Bridge = { read: readonly Permission[]; write: readonly Permission[] }
/** Own variables only; `env:all` and `env:write-all` add those of others. */
const variables: Bridge = { read: ['env:read', 'env:decrypt'], write: ['env:write', 'env:production'] }
const allVariables: Bridge = {
  read: [...variables.read, 'env:all'],
  write: [...variables.write, 'env:write-all'],
}
const nothing: Bridge = { read: [], write: [] }

/** Scopes with empty lists are those of operations that Berth does not have. */
const BRIDGE: Record<Scope, Bridge> = {
  /** Its own installation, and the webhooks that it registers. */
  'integration-configuration': {
    read: ['installation:read', 'webhook:read'],
    write: ['installation:write', 'webhook:write'],
  },
  deployment: { read: ['deployment:read'], write: ['deployment:write'] },
  'deployment-check': nothing,
  'edge-config': nothing,
  project: { read: ['project:read'], write: ['project:write', 'project:delete'] },
  'project-env-vars': variables,
  'global-project-env-vars': allVariables,
  /** Only users manage members, because adding an OWNER would grant everything. */
  team: { read: ['team:read'], write: [] },
  user: { read: ['user:read'], write: [] },
  'log-drain': { read: ['drain:read'], write: ['drain:write'] },
  domain: { read: ['domain:read'], write: ['domain:write'] },
}

const cache = new Map<string, ReadonlySet<Permission>>()

/** Returns the permissions of a token: those of its user's role, or the part named by granted scopes. */
export function permissionsOf(role: Role, scopesJson: string | null): ReadonlySet<Permission> {
  const key = `${role} ${scopesJson}`
  let permissions = cache.get(key)
  if (permissions === undefined) {
    const granted = scopesJson === null ? PERMISSIONS : (JSON.parse(scopesJson) as string[]).flatMap(opened)
    permissions = new Set(ROLE_PERMISSIONS[role].filter((permission) => granted.includes(permission)))
    if (cache.size > 10_000) cache.clear()
    cache.set(key, permissions)
  }
  return permissions
}

function opened(grant: string): readonly Permission[] {
  const [level, scope] = grant.split(':') as ['read' | 'read-write', Scope]
  const bridge = BRIDGE[scope]
  return level === 'read' ? bridge.read : [...bridge.read, ...bridge.write]
}
