import { findProject } from '../../model/project.ts'
import { notInTransferUnlocked } from '../../platform/access/guards.ts'
import { operatorRoute, route } from '../../platform/http/route.ts'
import {
  createDeployment,
  findAnyDeployment,
  findAnyProjectWithAccount,
  findDeployment,
  readDeploymentReply,
  updateDeployment,
} from './deployments.ts'
import { Expiration, PatchExpiration, updateExpiration } from './expiration.ts'
import { ListDeploymentsQuery, listDeployments } from './list.ts'
import { DEPLOYMENT_EVENTS } from './register.ts'
import { Deployment, DeploymentList, NewDeployment, OperatorDeployment, PatchDeployment } from './schema.ts'

const tag = 'deployments'
const read = ['deployment:read'] as const

export const deploymentRoutes = [
  route({
    method: 'GET',
    path: '/v6/deployments',
    operationId: 'getDeployments',
    summary: 'List deployments',
    tag,
    needs: read,
    query: ListDeploymentsQuery,
    run: listDeployments,
    list: { rows: 100, rowBytes: 16 * 1024 },
    status: 200,
    reply: DeploymentList,
  }),
  route({
    method: 'GET',
    path: '/v13/deployments/:idOrUrl',
    operationId: 'getDeployment',
    summary: 'Get a deployment by its id or its own host name',
    tag,
    needs: read,
    ignores: { query: { withGitRepoInfo: 'known commit data is always returned' } },
    load: findDeployment,
    run: readDeploymentReply,
    refuses: ['not_found'],
    status: 200,
    reply: Deployment,
  }),
  route({
    method: 'PATCH',
    path: '/v9/projects/:idOrName/deployment-expiration',
    operationId: 'updateDeploymentExpiration',
    summary: 'Set how long the deployments of a project are retained',
    tag,
    // Same as for removing one.
    needs: ['project:write', 'deployment:write'],
    body: PatchExpiration,
    load: findProject,
    guards: [notInTransferUnlocked],
    run: updateExpiration,
    refuses: ['not_found'],
    status: 200,
    reply: Expiration,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/projects/:projectId/deployments',
    operationId: 'operatorCreateDeployment',
    summary: 'Register a deployment, as the build system does',
    tag: 'operator',
    body: NewDeployment,
    load: findAnyProjectWithAccount,
    run: createDeployment,
    emits: DEPLOYMENT_EVENTS,
    refuses: ['not_found', 'budget_used_up', 'deployment_url_taken'],
    status: 201,
    reply: OperatorDeployment,
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/operator/v1/deployments/:id',
    operationId: 'operatorUpdateDeployment',
    summary: 'Change the state of a deployment, or where its visitors are sent',
    tag: 'operator',
    body: PatchDeployment,
    load: findAnyDeployment,
    run: updateDeployment,
    emits: DEPLOYMENT_EVENTS,
    refuses: ['not_found', 'deployment_ended'],
    status: 200,
    reply: OperatorDeployment,
  }),
]
