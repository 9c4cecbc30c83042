/** Routes of installations, and the change of an integration, which affects its installations. docs/spec/wire.md 6; docs/integrations-life-cycle.md. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { findInstallation, type InstallationWithIntegration } from '../../model/installation.ts'
import { notLimitedToProjects } from '../../platform/access/guards.ts'
import { operatorRoute, route } from '../../platform/http/route.ts'
import { Type } from '../../platform/schema/builder.ts'
import { findIntegration, findOwnIntegration } from '../integrations/integrations.ts'
import { Integration, PatchIntegration } from '../integrations/schema.ts'
import { listInstallations, listIntegrationInstallations, showInstallation } from './installations.ts'
import { findProjectAccess, setProjectAccess, showProjectAccess } from './project-access.ts'
import { REMOVAL_EVENTS, removeInstallation } from './remove.ts'
import {
  Configuration,
  ConfigurationsQuery,
  ConfirmScopes,
  InstallationsOf,
  InstallationsOfQuery,
  ProjectAccess,
} from './schema.ts'
import { confirmScopes, updateIntegrationAndInstallations } from './scope-change.ts'
import { transferOwnership } from './transfer-ownership.ts'

const tag = 'integrations'
const read = ['installation:read'] as const
const write = ['installation:write'] as const
/** Permissions that users have and installations lack. */
const decide = ['installation:write', 'installation:grant'] as const

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
    summary: 'Uninstall: its tokens end, and its variables, webhooks and log drains are removed',
    tag,
    needs: write,
    load: findInstallation,
    guards: [notLimitedToProjects],
    run: async (ctx, { installation }) => void (await removeInstallation(ctx, installation)),
    emits: REMOVAL_EVENTS,
    refuses: ['not_found'],
    status: 204,
  }),
  route({
    method: 'POST',
    path: '/v1/integrations/configuration/:id/confirm',
    operationId: 'confirmConfigurationScopes',
    summary: 'Grant an installation all pending scopes of its integration, as you saw them',
    tag,
    needs: decide,
    body: ConfirmScopes,
    load: findInstallation,
    guards: [notLimitedToProjects],
    run: confirmAndShow,
    emits: ['integration-configuration.scope-change-confirmed'],
    refuses: ['not_found', 'scopes_changed'],
    status: 200,
    reply: Configuration,
  }),
  route({
    method: 'POST',
    path: '/v1/integrations/configuration/:id/transfer-ownership',
    operationId: 'transferConfigurationOwnership',
    summary: 'Become the owner of an installation; a disabled one is enabled',
    tag,
    needs: decide,
    load: findInstallation,
    guards: [notLimitedToProjects],
    run: transferAndShow,
    emits: ['integration-configuration.transferred'],
    refuses: ['not_found'],
    status: 200,
    reply: Configuration,
  }),
  route({
    method: 'GET',
    path: '/v1/integrations/configuration/:id/project/:projectId',
    operationId: 'getConfigurationProject',
    summary: 'Return whether an installation sees a project',
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
    needs: decide,
    body: ProjectAccess,
    load: findProjectAccess,
    guards: [notLimitedToProjects],
    run: setProjectAccess,
    emits: ['integration-configuration.permission-upgraded'],
    refuses: ['not_found', 'budget_used_up'],
    status: 200,
    reply: ProjectAccess,
  }),
  route({
    method: 'PATCH',
    path: '/v1/integrations/apps/:id',
    operationId: 'updateIntegration',
    summary: 'Change an integration of the team; scopes follow the scope-change rules',
    tag,
    needs: ['integration:write'],
    body: PatchIntegration,
    load: findOwnIntegration,
    guards: [notLimitedToProjects],
    run: updateIntegrationAndInstallations,
    refuses: ['not_found'],
    status: 200,
    reply: Integration,
  }),
  route({
    method: 'GET',
    path: '/v1/integrations/apps/:id/installations',
    operationId: 'getIntegrationInstallations',
    summary: 'List the installations of an integration of the team, on all accounts',
    tag,
    needs: ['integration:read'],
    query: InstallationsOfQuery,
    load: findOwnIntegration,
    guards: [notLimitedToProjects],
    run: listIntegrationInstallations,
    refuses: ['not_found'],
    list: { rows: 100, rowBytes: 4 * 1024 },
    status: 200,
    reply: InstallationsOf,
  }),
  operatorRoute({
    method: 'PATCH',
    path: '/operator/v1/integrations/:id',
    operationId: 'operatorUpdateIntegration',
    summary: 'Change an integration; scopes follow the scope-change rules',
    tag: 'operator',
    body: PatchIntegration,
    load: findIntegration,
    run: updateIntegrationAndInstallations,
    refuses: ['not_found'],
    status: 200,
    reply: Integration,
  }),
]

async function confirmAndShow(
  ctx: Ctx,
  { installation: { id } }: InstallationWithIntegration,
  { body }: Input<unknown, Static<typeof ConfirmScopes>>,
): Promise<Configuration> {
  await confirmScopes(ctx, { id }, body.scopes)
  return showInstallation(ctx, await findInstallation(ctx, { id }))
}

async function transferAndShow(ctx: Ctx, { installation }: InstallationWithIntegration): Promise<Configuration> {
  await transferOwnership(ctx, installation)
  return showInstallation(ctx, await findInstallation(ctx, { id: installation.id }))
}
