import { notLimitedToProjects } from '../../platform/access/guards.ts'
import { operatorRoute, route } from '../../platform/http/route.ts'
import { MAX_LISTED_ENDPOINTS } from '../webhooks/rules.ts'
import { v1DrainRoutes } from './drain-routes.ts'
import { findAnyProject, ingestLines, readProjectBacklog } from './ingest.ts'
import { createLogDrain, getLogDrain, listLogDrains, transferLogDrain } from './log-drains.ts'
import { IngestResult, LogDrainList, LogDrainReply, LogLines, NewIntegrationDrain, NewLogDrain } from './schema.ts'
import { deleteDrain, findDrain } from './store.ts'

const tag = 'log drains'

/** The hosted API has three families of paths for log drains. These two share operations, and the third shares the rows. */
const creating = {
  method: 'POST',
  tag,
  needs: ['drain:write'],
  run: createLogDrain,
  refuses: ['missing_permission', 'unknown_project', 'too_many_endpoints'],
  status: 200,
  reply: LogDrainReply,
  noStore: true,
} as const
const listing = {
  method: 'GET',
  tag,
  needs: ['drain:read'],
  run: listLogDrains,
  list: { rows: MAX_LISTED_ENDPOINTS, rowBytes: 32 * 1024 },
  status: 200,
  reply: LogDrainList,
} as const
const deleting = {
  method: 'DELETE',
  tag,
  needs: ['drain:write'],
  load: findDrain,
  run: deleteDrain,
  refuses: ['not_found'],
  status: 204,
} as const

export const drainRoutes = [
  ...v1DrainRoutes,
  route({
    ...creating,
    path: '/v1/log-drains',
    operationId: 'createConfigurableLogDrain',
    summary: 'Create a log drain',
    body: NewLogDrain,
    namesIgnored: true,
  }),
  route({
    ...listing,
    path: '/v1/log-drains',
    operationId: 'getAllLogDrains',
    summary: 'List log drains',
    ignores: { query: { includeMetadata: 'Berth has no further metadata' } },
  }),
  route({
    method: 'GET',
    path: '/v1/log-drains/:id',
    operationId: 'getConfigurableLogDrain',
    summary: 'Get a log drain',
    tag,
    needs: ['drain:read'],
    load: findDrain,
    run: getLogDrain,
    refuses: ['not_found'],
    status: 200,
    reply: LogDrainReply,
  }),
  route({
    method: 'POST',
    path: '/v1/log-drains/:id/transfer-ownership',
    operationId: 'transferLogDrainOwnership',
    summary: 'Become the owner of a log drain; one on hold receives lines again',
    tag,
    needs: ['drain:write', 'installation:grant'],
    load: findDrain,
    guards: [notLimitedToProjects],
    run: transferLogDrain,
    refuses: ['not_found'],
    status: 200,
    reply: LogDrainReply,
  }),
  route({
    ...deleting,
    path: '/v1/log-drains/:id',
    operationId: 'deleteConfigurableLogDrain',
    summary: 'Remove a log drain',
  }),
  route({
    ...creating,
    path: '/v2/integrations/log-drains',
    operationId: 'createLogDrain',
    summary: 'Create a log drain, as an integration does',
    body: NewIntegrationDrain,
  }),
  route({
    ...listing,
    path: '/v2/integrations/log-drains',
    operationId: 'getIntegrationLogDrains',
    summary: 'List log drains, as an integration does',
  }),
  route({
    ...deleting,
    path: '/v1/integrations/log-drains/:id',
    operationId: 'deleteIntegrationLogDrain',
    summary: 'Remove a log drain, as an integration does',
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/projects/:projectId/logs',
    operationId: 'operatorTakeLogs',
    summary: 'Hand in log lines of a project, for its log drains',
    tag: 'operator',
    body: LogLines,
    bodyLimit: 1024 * 1024,
    load: findAnyProject,
    prepare: readProjectBacklog,
    run: ingestLines,
    refuses: ['not_found'],
    status: 202,
    reply: IngestResult,
  }),
]
