import { findProject } from '../../model/project.ts'
import { notInTransferUnlocked } from '../../platform/access/guards.ts'
import { route } from '../../platform/http/route.ts'
import { findDeploymentOfProject } from '../deployments/deployments.ts'
import { listPromoteAliases, listRollbackAliases } from './mapping.ts'
import { requestPromote, requestRollback } from './promote.ts'
import { PromoteAliases, PromoteAliasesQuery } from './schema.ts'

const tag = 'deployments'
const promote = ['project:write', 'deployment:write'] as const

export const promotionRoutes = [
  route({
    method: 'POST',
    path: '/v10/projects/:projectId/promote/:deploymentId',
    operationId: 'requestPromote',
    summary: 'Make a deployment serve production',
    tag,
    needs: promote,
    load: findDeploymentOfProject,
    guards: [notInTransferUnlocked],
    run: requestPromote,
    triggers: 'alias-requests',
    emits: ['deployment.promoted'],
    refuses: ['not_found', 'project_paused', 'deployment_not_ready'],
    status: 201,
  }),
  route({
    method: 'POST',
    path: '/v1/projects/:projectId/rollback/:deploymentId',
    operationId: 'requestRollback',
    summary: 'Roll back to a former production deployment',
    tag,
    needs: promote,
    ignores: { query: { description: 'a rollback has no text; the audit log has its author' } },
    load: findDeploymentOfProject,
    guards: [notInTransferUnlocked],
    run: requestRollback,
    triggers: 'alias-requests',
    refuses: ['not_found', 'project_paused', 'deployment_not_ready', 'deployment_never_live'],
    status: 201,
  }),
  route({
    method: 'GET',
    path: '/v1/projects/:projectId/promote/aliases',
    operationId: 'listPromoteAliases',
    summary: 'List the aliases of the last promote request, with their mapping status',
    tag,
    needs: ['project:read'],
    query: PromoteAliasesQuery,
    load: findProject,
    run: listPromoteAliases,
    refuses: ['not_found'],
    list: { rows: 100, rowBytes: 2 * 1024 },
    status: 200,
    reply: PromoteAliases,
  }),
  route({
    method: 'GET',
    path: '/v9/projects/:projectId/rollback/aliases',
    operationId: 'listRollbackAliases',
    summary: 'List the aliases of the last rollback, for the CLI',
    tag,
    needs: ['project:read'],
    query: PromoteAliasesQuery,
    load: findProject,
    run: listRollbackAliases,
    refuses: ['not_found'],
    list: { rows: 100, rowBytes: 2 * 1024 },
    status: 200,
    reply: PromoteAliases,
  }),
]
