import { route } from '../../platform/http/route.ts'
import { KINDS, MAX_RESULTS_PER_KIND, SearchQuery, SearchResults } from './schema.ts'
import { searchAccount } from './search.ts'

export const searchRoutes = [
  route({
    method: 'GET',
    path: '/v1/search',
    operationId: 'searchAccount',
    summary:
      'Find projects, deployments, domains, keys of variables, users, integrations and apps of an account by a part of their names',
    tag: 'accounts',
    needs: ['team:read'],
    query: SearchQuery,
    run: searchAccount,
    list: { rows: KINDS.length * MAX_RESULTS_PER_KIND, rowBytes: 4 * 1024 },
    status: 200,
    reply: SearchResults,
  }),
]
