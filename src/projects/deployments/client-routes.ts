import { route } from '../../platform/http/route.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { findDeployment, readDeploymentReply } from './deployments.ts'
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
]
