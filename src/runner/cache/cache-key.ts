/** Which build cache a build reads and which it writes. docs/runner.md: Build cache. */
import { createHash } from 'node:crypto'
import type { Lease } from '../../delivery/protocol/runner-protocol.ts'
import type { NodeMajor } from '../toolchain/units.ts'

/** Names of files. All caches of an account begin alike. */
export type CacheKeys = { own: string; readable: readonly string[] }

/**
 * Returns the caches of a build. A preview reads that of production where it has none, and never writes it: its code may not be trusted as much. Packages
 * are compiled for one version of Node.js. Pure.
 */
export function cacheKeysOf({ project, target, environment, branch, env }: KeyFacts, node: NodeMajor): CacheKeys {
  const account = digest([project.accountId]).slice(0, 16)
  const nameOf = (...scope: string[]) => `${account}.${digest([project.id, String(node), ...scope])}`
  const production = nameOf('production')
  if (target === 'production') return { own: production, readable: [production] }
  // A project may hide system variables from its builds, and a create may then choose the value itself.
  const named = branch === undefined ? env.VERCEL_GIT_COMMIT_REF : branch
  const own = nameOf('preview', environment ?? '', named ?? '')
  return { own, readable: [own, production] }
}

type KeyFacts = Pick<Lease, 'project' | 'target' | 'environment' | 'branch' | 'env'>

/** Whether the create, or a variable as on the hosted platform, asks for a build without what an earlier one left. Pure. */
export function skipsCache({ settings, env }: Pick<Lease, 'settings' | 'env'>): boolean {
  return settings.skipsCache === true || env.VERCEL_FORCE_NO_BUILD_CACHE === '1'
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
