import { route } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { findDeployment, findDeploymentOfProject, readDeploymentReply } from './deployments.ts'
import {
  Builds,
  DeploymentEvents,
  EventsQuery,
  listBuilds,
  listDeploymentEvents,
  RuntimeLog,
  readRuntimeLogs,
} from './logs.ts'
import { DeleteDeploymentQuery, DeletedDeployment, deleteDeployment } from './remove.ts'
import { Deployment } from './schema.ts'
import { DeploymentUsage, MAX_HOURS, readDeploymentUsage, UsageQuery } from './usage.ts'

const tag = 'deployments'
const read = ['deployment:read'] as const
const ByUrl = Type.Object({
  url: Type.Optional(Type.String({ maxLength: 300, description: 'its own host name, or one that points to it' })),
  id: Type.Optional(Type.String({ maxLength: 100 })),
})

export const clientDeploymentRoutes = [
  route({
    method: 'GET',
    path: '/v13/deployments/get',
    operationId: 'getDeploymentByUrl',
    summary: 'Get a deployment by a host name in the query, as GitHub Actions do',
    tag,
    needs: read,
    query: ByUrl,
    run: async (ctx, _: undefined, { query }) => {
      const idOrUrl = query.url ?? query.id
      if (idOrUrl === undefined) refuse('bad_request', 'Invalid request: name the deployment by `url` or `id`.')
      return readDeploymentReply(ctx, await findDeployment(ctx, { idOrUrl }))
    },
    refuses: ['not_found'],
    status: 200,
    reply: Deployment,
  }),
  route({
    method: 'DELETE',
    path: '/v13/deployments/:idOrUrl',
    operationId: 'deleteDeployment',
    summary: 'Remove a deployment, and unassign the names that point to it',
    tag,
    // Same as for a promote, because it can take production offline.
    needs: ['project:write', 'deployment:write'],
    query: DeleteDeploymentQuery,
    run: deleteDeployment,
    emits: ['deployment.cleanup'],
    refuses: ['not_found', 'in_transfer'],
    status: 200,
    reply: DeletedDeployment,
  }),
  route({
    method: 'GET',
    path: '/v3/deployments/:idOrUrl/events',
    operationId: 'getDeploymentEvents',
    summary: 'List the states of a deployment, and where the log of its build is',
    tag,
    needs: read,
    query: EventsQuery,
    load: findDeployment,
    run: listDeploymentEvents,
    list: { rows: 10_000, rowBytes: 4 * 1024 },
    refuses: ['not_found'],
    status: 200,
    reply: DeploymentEvents,
    jsonLines: true,
  }),
  route({
    method: 'GET',
    path: '/v11/deployments/:id/builds',
    operationId: 'listDeploymentBuilds',
    summary: 'List the builds of a deployment: none, since Berth does not build',
    tag,
    needs: read,
    load: findDeployment,
    run: listBuilds,
    list: { rows: 1, rowBytes: 8 * 1024 },
    refuses: ['not_found'],
    status: 200,
    reply: Builds,
  }),
  route({
    method: 'GET',
    path: '/v1/deployments/:idOrUrl/usage',
    operationId: 'getDeploymentUsage',
    summary: 'Read the usage of a deployment: requests, statuses and bytes by hour',
    tag,
    needs: read,
    query: UsageQuery,
    load: findDeployment,
    run: readDeploymentUsage,
    list: { rows: MAX_HOURS, rowBytes: 512 },
    refuses: ['not_found'],
    status: 200,
    reply: DeploymentUsage,
  }),
  route({
    method: 'GET',
    path: '/v1/projects/:projectId/deployments/:deploymentId/runtime-logs',
    operationId: 'getRuntimeLogs',
    summary: 'Read one line that states that Berth stores no logs',
    tag,
    needs: read,
    load: findDeploymentOfProject,
    run: readRuntimeLogs,
    refuses: ['not_found'],
    status: 200,
    reply: RuntimeLog,
    jsonLines: true,
  }),
]
