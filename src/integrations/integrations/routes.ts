/**
 * Routes that register and delete integrations. Changing one is in integrations/installations/routes.ts, because it affects installations.
 * docs/spec/operator-api.md; docs/integrations.md: Registering.
 */

import type { Ctx } from '../../context.ts'
import { notLimitedToProjects } from '../../platform/access/guards.ts'
import { operatorRoute, route } from '../../platform/http/route.ts'
import {
  createIntegration,
  createTeamIntegration,
  deleteIntegration,
  findIntegration,
  findOwnIntegration,
  listAllIntegrations,
  listIntegrations,
  showIntegration,
} from './integrations.ts'
import { teamOnly } from './rules.ts'
import {
  CreatedClientSecret,
  CreatedIntegration,
  Integration,
  IntegrationList,
  IntegrationsOfQuery,
  IntegrationsQuery,
  NewIntegration,
  NewTeamIntegration,
} from './schema.ts'
import { addSecret, deleteSecret } from './secrets.ts'

const tag = 'integrations'
const operatorTag = 'operator'
const read = ['integration:read'] as const
const write = ['integration:write'] as const

const ofTeams = [
  route({
    method: 'POST',
    path: '/v1/integrations/apps',
    operationId: 'createIntegration',
    summary: 'Register an integration of the team',
    tag,
    needs: write,
    body: NewIntegration,
    guards: [teamOnly, notLimitedToProjects],
    run: createIntegration,
    refuses: ['budget_used_up', 'integration_slug_taken'],
    status: 201,
    reply: CreatedIntegration,
    noStore: true,
  }),
  route({
    method: 'GET',
    path: '/v1/integrations/apps',
    operationId: 'getIntegrations',
    summary: 'List the integrations of the team',
    tag,
    needs: read,
    query: IntegrationsQuery,
    guards: [teamOnly],
    run: listIntegrations,
    list: { rows: 100, rowBytes: 32 * 1024 },
    status: 200,
    reply: IntegrationList,
  }),
  route({
    method: 'GET',
    path: '/v1/integrations/apps/:id',
    operationId: 'getIntegration',
    summary: 'Get an integration of the team, by its id or slug',
    tag,
    needs: read,
    load: findOwnIntegration,
    run: showIntegration,
    refuses: ['not_found'],
    status: 200,
    reply: Integration,
  }),
  route({
    method: 'DELETE',
    path: '/v1/integrations/apps/:id',
    operationId: 'deleteIntegration',
    summary: 'Delete an integration of the team without installations',
    tag,
    needs: write,
    load: findOwnIntegration,
    guards: [notLimitedToProjects],
    run: deleteIntegration,
    refuses: ['not_found', 'integration_installed'],
    status: 204,
  }),
  route({
    method: 'POST',
    path: '/v1/integrations/apps/:id/secrets',
    operationId: 'createIntegrationSecret',
    summary: 'Create a second client secret; the first works until it is deleted',
    tag,
    needs: write,
    load: findOwnIntegration,
    guards: [notLimitedToProjects],
    run: (ctx: Ctx, integration) => addSecret(ctx, integration),
    refuses: ['not_found', 'secrets_full'],
    status: 201,
    reply: CreatedClientSecret,
    noStore: true,
  }),
  route({
    method: 'DELETE',
    path: '/v1/integrations/apps/:id/secrets/:secretId',
    operationId: 'deleteIntegrationSecret',
    summary: 'End a client secret at once',
    tag,
    needs: write,
    load: findOwnIntegration,
    guards: [notLimitedToProjects],
    run: deleteSecret,
    refuses: ['not_found', 'last_secret'],
    status: 204,
  }),
]

const ofOperator = [
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/integrations',
    operationId: 'operatorCreateIntegration',
    summary: 'Register an integration of a team',
    tag: operatorTag,
    body: NewTeamIntegration,
    run: createTeamIntegration,
    refuses: ['budget_used_up', 'unknown_team', 'integration_slug_taken'],
    status: 201,
    reply: CreatedIntegration,
    noStore: true,
  }),
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/integrations',
    operationId: 'operatorListIntegrations',
    summary: 'List integrations',
    tag: operatorTag,
    query: IntegrationsOfQuery,
    run: listAllIntegrations,
    list: { rows: 100, rowBytes: 32 * 1024 },
    status: 200,
    reply: IntegrationList,
  }),
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/integrations/:id',
    operationId: 'operatorGetIntegration',
    summary: 'Get an integration by its id or slug',
    tag: operatorTag,
    load: findIntegration,
    run: showIntegration,
    refuses: ['not_found'],
    status: 200,
    reply: Integration,
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/integrations/:id',
    operationId: 'operatorDeleteIntegration',
    summary: 'Delete an integration without installations',
    tag: operatorTag,
    load: findIntegration,
    run: deleteIntegration,
    refuses: ['not_found', 'integration_installed'],
    status: 204,
  }),
  operatorRoute({
    method: 'POST',
    path: '/operator/v1/integrations/:id/secrets',
    operationId: 'operatorCreateIntegrationSecret',
    summary: 'Create a second client secret; the first works until it is deleted',
    tag: operatorTag,
    load: findIntegration,
    run: (ctx, integration) => addSecret(ctx, integration),
    refuses: ['not_found', 'secrets_full'],
    status: 201,
    reply: CreatedClientSecret,
    noStore: true,
  }),
  operatorRoute({
    method: 'DELETE',
    path: '/operator/v1/integrations/:id/secrets/:secretId',
    operationId: 'operatorDeleteIntegrationSecret',
    summary: 'End a client secret at once',
    tag: operatorTag,
    load: findIntegration,
    run: deleteSecret,
    refuses: ['not_found', 'last_secret'],
    status: 204,
  }),
]

export const integrationRoutes = [...ofTeams, ...ofOperator]
