/** One search over what an account has, as far as the caller may see it, with a bound on the rows that are read. docs/console.md: Search. */
import type { Ctx, Input } from '../../context.ts'
import type { Permission } from '../../platform/permissions/roles.ts'
import type { Finder } from './finder.ts'
import { findDomains, findProjects } from './names.ts'
import { findApps, findIntegrations, findPeople } from './people-and-integrations.ts'
import { KINDS, type Kind, type SearchQuery, type SearchResults } from './schema.ts'
import { findVariables } from './variables.ts'

const DEFAULT_LIMIT = 5

/** TABLE what finds a kind, and what the caller needs besides `team:read` so that it is looked for: what the lists of that kind need. */
const FINDERS: Record<Kind, { needs: readonly Permission[]; find: Finder }> = {
  project: { needs: ['project:read'], find: findProjects },
  domain: { needs: ['project:read'], find: findDomains },
  /** A result names its project. */
  variable: { needs: ['env:read', 'project:read'], find: findVariables },
  person: { needs: [], find: findPeople },
  integration: { needs: ['installation:read'], find: findIntegrations },
  app: { needs: ['integration:read'], find: findApps },
}

/**
 * Looks for a text in the names of what the account has: at most `limit` of each kind, an exact name first. Kinds that the caller may not
 * read are passed over. One kind after another, so a search takes one connection.
 */
export async function searchAccount(ctx: Ctx, _: undefined, { query }: Input<SearchQuery>): Promise<SearchResults> {
  const { limit = DEFAULT_LIMIT } = query
  const text = query.q.trim().toLowerCase()
  const answer: SearchResults = { results: [], more: [], partial: [] }
  for (const kind of KINDS) {
    const { needs, find } = FINDERS[kind]
    if (!needs.every((permission) => ctx.caller.permissions.has(permission))) continue
    const { found, partial } = await find(ctx, text, limit + 1)
    answer.results.push(...found.slice(0, limit).map((one) => ({ kind, ...one })))
    if (found.length > limit) answer.more.push(kind)
    if (partial) answer.partial.push(kind)
  }
  return answer
}
