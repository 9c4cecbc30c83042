/** Scopes described for users. Specification: Scopes. */

import { type Html, html } from '../../platform/pages/html.ts'
import type { Scope } from '../../platform/permissions/scopes.ts'

const LABELS: Record<Scope, { read: string; write: string }> = {
  'integration-configuration': {
    read: 'See its own installation and the webhooks that it registered',
    write:
      'See, change and remove its own installation, and register webhooks, which receive the events of the account',
  },
  deployment: { read: 'See deployments', write: 'See, create and cancel deployments' },
  'deployment-check': {
    read: 'See the checks of deployments',
    write: 'See and run checks that can block a deployment',
  },
  'edge-config': { read: 'See Edge Configs', write: 'See, create and change Edge Configs and their tokens' },
  project: {
    read: 'See projects, their settings and the state of their domains',
    write: 'See projects, change their settings, create new ones and delete them',
  },
  'project-env-vars': {
    read: 'See the environment variables that it created',
    write: 'Create, change and delete environment variables of its own, for production too',
  },
  'global-project-env-vars': {
    read: 'Read all environment variables with their values, apart from sensitive ones',
    write: 'Read, create, change and delete all environment variables, for production too',
  },
  team: { read: 'See the team’s details and its members', write: 'See the team’s details and its members' },
  user: { read: 'See your name, username and email', write: 'See your name, username and email' },
  'log-drain': {
    read: 'See its log drains',
    write: 'Create and delete log drains, which send it the logs of your deployments',
  },
  domain: {
    read: 'See domains and certificates',
    write: 'Add, change, verify and remove domains and certificates',
  },
}

/** Returns the descriptions of a scope for reading and writing. */
export function scopeDescriptions(scope: Scope): { read: string; write: string } {
  return LABELS[scope]
}

/**
 * TABLE Scopes: descriptions for user tokens, where they differ from those for integrations, because users see the variables of users.
 * projects/env/access.ts.
 */
const OF_PEOPLE: Partial<Record<Scope, string>> = {
  'integration-configuration': 'See, change and remove installations of integrations, and register webhooks',
  'project-env-vars': 'Create, change and delete the environment variables that users created, for production too',
  'log-drain': 'See, create and delete log drains',
}

/** Returns the description of a scope for a user's token. */
export function tokenScopeDescription(scope: Scope): string {
  return OF_PEOPLE[scope] ?? LABELS[scope].write
}

/** Renders a list of scopes such as `read:project`. */
export function listScopes(scopes: readonly string[]): Html {
  if (scopes.length === 0) return html`<p>It requests no access.</p>`
  return html`<ul class="rows">${scopes.map(showScope)}</ul>`
}

function showScope(scope: string): Html {
  const [level, name] = scope.split(':') as ['read' | 'read-write', Scope]
  const writes = level === 'read-write'
  return html`<li class="scope"><span>${LABELS[name][writes ? 'write' : 'read']} <small class="soft">(${name})</small></span>
<span class="tag${writes && ' write'}">${writes ? 'Read and write' : 'Read only'}</span></li>`
}
