/** Installations on an account. Paths and shapes: docs/spec/wire.md 6; docs/spec/client-requests.md C.1. */

import { notLimitedToProjects } from '../access/guards.ts'
import { route } from '../http/route.ts'
import { Configuration, ConfigurationsQuery, ProjectAccess } from '../integrations/schema.ts'
import { Type } from '../schema/builder.ts'
import { findInstallation, listInstallations, showInstallation } from './installations.ts'
import { findProjectAccess, setProjectAccess, showProjectAccess } from './project-access.ts'
import { REMOVAL_EVENTS, removeInstallation } from './remove.ts'

const tag = 'integrations'
const read = ['integration:read'] as const
const write = ['integration:write'] as const

export const installationRoutes = [
  route({
    method: 'GET',
    path: '/v1/integrations/configurations',
    operationId: 'getConfigurations',
    summary: 'List the installations on the account',
    tag,
    needs: read,
    query: ConfigurationsQuery,
    run: listInstallations,
    list: { rows: 1000, rowBytes: 48 * 1024 },
    status: 200,
    reply: Type.Array(Configuration),
  }),
  route({
    method: 'GET',
    path: '/v1/integrations/configuration/:id',
    operationId: 'getConfiguration',
    summary: 'Get an installation',
    tag,
    needs: read,
    load: findInstallation,
    run: showInstallation,
    refuses: ['not_found'],
    status: 200,
    reply: Configuration,
  }),
  route({
    method: 'DELETE',
    path: '/v1/integrations/configuration/:id',
    operationId: 'deleteConfiguration',
    summary: 'Uninstall: its tokens end, its variables, webhooks and log drains go',
    tag,
    needs: write,
    load: findInstallation,
    guards: [notLimitedToProjects],
    run: async (ctx, configuration) => void (await removeInstallation(ctx, configuration)),
    emits: REMOVAL_EVENTS,
    refuses: ['not_found'],
    status: 204,
  }),
  route({
    method: 'GET',
    path: '/v1/integrations/configuration/:id/project/:projectId',
    operationId: 'getConfigurationProject',
    summary: 'Say whether an installation sees a project',
    tag,
    needs: read,
    load: findProjectAccess,
    run: showProjectAccess,
    refuses: ['not_found'],
    status: 200,
    reply: ProjectAccess,
  }),
  route({
    method: 'POST',
    path: '/v1/integrations/configuration/:id/project/:projectId',
    operationId: 'setConfigurationProject',
    summary: 'Let an installation see a project, or no longer',
    tag,
    needs: ['integration:write', 'integration:grant'],
    body: ProjectAccess,
    load: findProjectAccess,
    guards: [notLimitedToProjects],
    run: setProjectAccess,
    emits: ['integration-configuration.permission-upgraded'],
    refuses: ['not_found'],
    status: 200,
    reply: ProjectAccess,
  }),
]
