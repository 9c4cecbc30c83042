/** Search over an account's resources that the caller can see, with a bounded number of rows. docs/console.md: Search. */
import type { Ctx, Input } from '../../context.ts'
import type { Permission } from '../../platform/permissions/roles.ts'
import { findDeployments } from './deployments.ts'
import type { Finder } from './finder.ts'
import { findDomains, findProjects } from './names.ts'
import { findApps, findIntegrations, findPeople } from './people-and-integrations.ts'
import { KINDS, type Kind, type SearchQuery, type SearchResults } from './schema.ts'
import { findVariables } from './variables.ts'

const DEFAULT_LIMIT = 5

/** TABLE kind → its finder, and required permissions in addition to `team:read`, like those of its list. */
const FINDERS: Record<Kind, { needs: readonly Permission[]; find: Finder }> = {
  project: { needs: ['project:read'], find: findProjects },
  deployment: { needs: ['project:read'], find: findDeployments },
  domain: { needs: ['project:read'], find: findDomains },
  variable: { needs: ['env:read', 'project:read'], find: findVariables },
  person: { needs: [], find: findPeople },
  integration: { needs: ['installation:read'], find: findIntegrations },
  app: { needs: ['integration:read'], find: findApps },
}

/** Finds a text: at most `limit` per readable kind, exact names first. Kinds run in order, so a search uses one connection. */
export async function searchAccount(ctx: Ctx, _: undefined, { query }: Input<SearchQuery>): Promise<SearchResults> {
  const { limit = DEFAULT_LIMIT } = query
  const typed = query.q.trim()
  const answer: SearchResults = { results: [], more: [], partial: [] }
  for (const kind of KINDS) {
    const { needs, find } = FINDERS[kind]
    if (!needs.every((permission) => ctx.caller.permissions.has(permission))) continue
    const { found, partial } = await find(ctx, typed.toLowerCase(), limit + 1, typed)
    answer.results.push(...found.slice(0, limit).map((result) => ({ kind, ...result })))
    if (found.length > limit) answer.more.push(kind)
    if (partial) answer.partial.push(kind)
  }
  return answer
}
