import { route } from '../../platform/http/route.ts'
import { findDeploymentOfProject } from '../../projects/deployments/deployments.ts'
import { Events, EventsBody, listLogEvents } from './log-events.ts'
import { listRequestLogs, MAX_ROWS, RequestLogs, RequestLogsQuery } from './request-logs.ts'
import { listRuntimeLogs, MAX_LINES, RuntimeLogs, RuntimeLogsQuery } from './runtime-logs.ts'

const tag = 'deployments'
const read = ['deployment:read'] as const

export const logRoutes = [
  route({
    method: 'GET',
    path: '/v1/projects/:projectId/deployments/:deploymentId/runtime-logs',
    operationId: 'getRuntimeLogs',
    summary: 'Read the newest log lines of the functions of a deployment',
    tag,
    needs: read,
    query: RuntimeLogsQuery,
    load: findDeploymentOfProject,
    run: listRuntimeLogs,
    list: { rows: MAX_LINES, rowBytes: 64 * 1024 },
    refuses: ['not_found'],
    status: 200,
    reply: RuntimeLogs,
    jsonLines: 'always',
  }),
  route({
    method: 'GET',
    path: '/api/logs/request-logs',
    operationId: 'listRequestLogs',
    summary: 'List the requests of functions of a project with their log lines, as the command line does from 50 to 63',
    tag,
    needs: read,
    query: RequestLogsQuery,
    run: listRequestLogs,
    // Of the 8 MiB of lines that one request reads, in all rows together.
    list: { rows: MAX_ROWS, rowBytes: 192 * 1024 },
    refuses: ['not_found'],
    status: 200,
    reply: RequestLogs,
  }),
  route({
    method: 'POST',
    path: '/v1/observability/events',
    operationId: 'listLogEvents',
    summary: 'List log lines or requests of functions of a project, as the command line does from 64 on',
    tag,
    needs: read,
    body: EventsBody,
    reads: true,
    run: listLogEvents,
    refuses: ['not_found'],
    status: 200,
    reply: Events,
  }),
]
