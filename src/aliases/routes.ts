import { accountInGoodStanding, notInTransfer } from '../access/guards.ts'
import { findDeployment } from '../deployments/deployments.ts'
import { ROUTING_REFUSALS } from '../domains/domains.ts'
import { places, route } from '../http/route.ts'
import { Type } from '../schema/builder.ts'
import { OneOf } from '../schema/fields.ts'
import {
  deleteAlias,
  findAlias,
  findAliasOfProject,
  getAlias,
  listAliases,
  listAliasesOfDeployment,
} from './aliases.ts'
import { assignAlias, assignmentNotInTransfer, findAssignment } from './assign.ts'
import {
  Alias,
  AliasPage,
  AliasQuery,
  AssignAlias,
  AssignedAlias,
  DeploymentAliases,
  ListAliasesQuery,
} from './schema.ts'

const tag = 'deployments'
const read = ['deployment:read'] as const

/** The same at the paths of the SDKs and, with `now` in them, at those of the CLI. */
export const aliasRoutes = [
  ...places(
    { path: '/v4/aliases', operationId: 'listAliases' },
    { path: '/v3/now/aliases', operationId: 'listAliasesAsCli' },
  ).map((at) =>
    route({
      method: 'GET',
      ...at,
      summary: `List the domains of the account that lead to a deployment${asCli(at)}`,
      tag,
      needs: read,
      query: ListAliasesQuery,
      run: listAliases,
      list: { rows: 100, rowBytes: 4 * 1024 },
      status: 200,
      reply: AliasPage,
    }),
  ),
  ...places(
    { path: '/v4/aliases/:idOrAlias', operationId: 'getAlias' },
    { path: '/now/aliases/:idOrAlias', operationId: 'getAliasAsCli' },
  ).map((at) =>
    route({
      method: 'GET',
      ...at,
      summary: `Get an alias by its id or its name${asCli(at)}`,
      tag,
      needs: read,
      query: AliasQuery,
      load: findAlias,
      run: getAlias,
      refuses: ['not_found'],
      status: 200,
      reply: Alias,
    }),
  ),
  ...places(
    { path: '/v2/aliases/:idOrAlias', operationId: 'deleteAlias' },
    { path: '/now/aliases/:idOrAlias', operationId: 'deleteAliasAsCli' },
  ).map((at) =>
    route({
      method: 'DELETE',
      ...at,
      summary: `Take a domain off its deployment; it stays on its project${asCli(at)}`,
      tag,
      needs: ['project:write', 'deployment:write'],
      load: findAliasOfProject,
      guards: [notInTransfer],
      run: deleteAlias,
      refuses: ['not_found'],
      status: 200,
      reply: Type.Object({ status: OneOf('SUCCESS') }),
    }),
  ),
  ...places(
    { path: '/v2/deployments/:id/aliases', operationId: 'listDeploymentAliases' },
    { path: '/now/deployments/:id/aliases', operationId: 'listDeploymentAliasesAsCli' },
  ).map((at) =>
    route({
      method: 'GET',
      ...at,
      summary: `List the aliases of a deployment${asCli(at)}`,
      tag,
      needs: read,
      load: findDeployment,
      run: listAliasesOfDeployment,
      refuses: ['not_found'],
      list: { rows: 1000, rowBytes: 4 * 1024 },
      status: 200,
      reply: DeploymentAliases,
    }),
  ),
  ...places(
    { path: '/v2/deployments/:id/aliases', operationId: 'assignAlias' },
    { path: '/now/deployments/:id/aliases', operationId: 'assignAliasAsCli' },
  ).map((at) =>
    route({
      method: 'POST',
      ...at,
      summary: `Make a domain of the project lead to a deployment${asCli(at)}`,
      tag,
      needs: ['project:write', 'domain:write', 'deployment:write'],
      body: AssignAlias,
      load: findAssignment,
      guards: [accountInGoodStanding, assignmentNotInTransfer],
      run: assignAlias,
      emits: ['project.domain.created', 'project.domain.updated'],
      refuses: [
        'not_found',
        'invalid_domain',
        'domain_forbidden',
        'production_deployment_failed',
        ...ROUTING_REFUSALS,
        'alias_not_ready',
        'alias_in_use',
        'alias_not_verified',
        'alias_not_allowed',
      ],
      status: 200,
      reply: AssignedAlias,
    }),
  ),
]

function asCli({ path }: { path: string }): string {
  return path.includes('/now/') ? ', as the CLI does' : ''
}
