import { route } from '../../platform/http/route.ts'
import { findDeployment } from '../../projects/deployments/deployments.ts'
import { EventsQuery } from '../../projects/deployments/logs.ts'
import { BuildEvents, Builds, followBuildEvents, listBuildEvents, listBuilds, MAX_EVENTS } from './events.ts'

const tag = 'deployments'
const read = ['deployment:read'] as const

export const buildRoutes = [
  route({
    method: 'GET',
    path: '/v3/deployments/:idOrUrl/events',
    operationId: 'getDeploymentEvents',
    summary: 'List or follow the log of the build of a deployment',
    tag,
    needs: read,
    query: EventsQuery,
    load: findDeployment,
    run: listBuildEvents,
    follow: followBuildEvents,
    list: { rows: MAX_EVENTS, rowBytes: 4 * 1024 },
    refuses: ['not_found'],
    status: 200,
    reply: BuildEvents,
    jsonLines: true,
  }),
  route({
    method: 'GET',
    path: '/v11/deployments/:id/builds',
    operationId: 'listDeploymentBuilds',
    summary: 'List the build of a deployment: its state and times',
    tag,
    needs: read,
    load: findDeployment,
    run: listBuilds,
    list: { rows: 1, rowBytes: 8 * 1024 },
    refuses: ['not_found'],
    status: 200,
    reply: Builds,
  }),
]
