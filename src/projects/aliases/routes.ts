import { accountInGoodStanding, notInTransfer } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf } from '../../platform/schema/fields.ts'
import { findDeployment } from '../deployments/deployments.ts'
import { ROUTING_REFUSALS } from '../domains/domains.ts'
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

export const aliasRoutes = [
  route({
    method: 'GET',
    path: '/v4/aliases',
    operationId: 'listAliases',
    summary: 'List the domains of the account that point to a deployment',
    tag,
    needs: read,
    query: ListAliasesQuery,
    run: listAliases,
    list: { rows: 100, rowBytes: 4 * 1024 },
    status: 200,
    reply: AliasPage,
  }),
  route({
    method: 'GET',
    path: '/v4/aliases/:idOrAlias',
    operationId: 'getAlias',
    summary: 'Get an alias by its id or its name',
    tag,
    needs: read,
    query: AliasQuery,
    load: findAlias,
    run: getAlias,
    refuses: ['not_found'],
    status: 200,
    reply: Alias,
  }),
  route({
    method: 'DELETE',
    path: '/v2/aliases/:idOrAlias',
    operationId: 'deleteAlias',
    summary: 'Unassign a domain from its deployment; it stays on its project',
    tag,
    needs: ['project:write', 'deployment:write'],
    load: findAliasOfProject,
    guards: [notInTransfer],
    run: deleteAlias,
    refuses: ['not_found'],
    status: 200,
    reply: Type.Object({ status: OneOf('SUCCESS') }),
  }),
  route({
    method: 'GET',
    path: '/v2/deployments/:id/aliases',
    operationId: 'listDeploymentAliases',
    summary: 'List the aliases of a deployment',
    tag,
    needs: read,
    load: findDeployment,
    run: listAliasesOfDeployment,
    refuses: ['not_found'],
    list: { rows: 1000, rowBytes: 4 * 1024 },
    status: 200,
    reply: DeploymentAliases,
  }),
  route({
    method: 'POST',
    path: '/v2/deployments/:id/aliases',
    operationId: 'assignAlias',
    summary: 'Point a domain of the project to a deployment',
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
]
