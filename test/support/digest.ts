/** A digest of all that is stored: what a refused request must leave as it was. */
import { createHash } from 'node:crypto'
import { ROUTES } from '../../src/routes.ts'
import type { World } from './world.ts'

const TABLES = [
  'account',
  'member',
  'invitation',
  'reserved_slug',
  'token',
  'project',
  'project_domain',
  'account_domain',
  'transfer_request',
  'git_credential',
  'event',
  'audit',
  'fact',
  'root_key',
  'project_key',
  'env_var',
  'env_target',
  'env_usage',
  'env_history',
  'shared_env_var',
  'shared_env_target',
  'shared_env_link',
  'deployment',
  'alias',
  'alias_request',
  'alias_mapping',
  'sign_in',
  'session',
  'password_link',
  'email_change',
  'integration',
  'integration_secret',
  'configuration',
  'configuration_project',
  'authorization_code',
  'webhook',
  'log_drain',
  'delivery',
  'delivery_attempt',
  'mail',
  'identity',
  'identity_link',
  'totp',
  'passkey',
  'recovery_code',
  'released_proof',
  'deployment_meta',
] as const

/** Reads: one that gave clear values leaves an audit line a moment later. */
const READS = new Set(ROUTES.filter(({ method }) => method === 'GET').map(({ operationId }) => operationId))

/** One hash over every row of every table but the audit lines of reads: equal digests, nothing written. */
export async function digest({ deps }: World): Promise<string> {
  const hash = createHash('sha256')
  for (const table of TABLES) {
    const rows = await deps.db.read.selectFrom(table).selectAll().execute()
    hash.update(
      rows
        .filter((row) => table !== 'audit' || !READS.has((row as { type: string }).type))
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n'),
    )
  }
  return hash.digest('hex')
}
