/** What a person decides of an installation later: to grant what it asks anew, to answer for it. docs/integrations-life-cycle.md. */
import type { Static } from 'typebox'
import { notLimitedToProjects } from '../access/guards.ts'
import type { Ctx, Input } from '../context.ts'
import { route } from '../http/route.ts'
import { Configuration, ConfirmScopes } from '../integrations/schema.ts'
import { type FoundInstallation, findInstallation, showInstallation } from './installations.ts'
import { confirmScopes } from './scope-change.ts'
import { transferOwnership } from './transfer-ownership.ts'

const tag = 'integrations'
const write = ['integration:write', 'integration:grant'] as const

export const installationLifeRoutes = [
  route({
    method: 'POST',
    path: '/v1/integrations/configuration/:id/confirm',
    operationId: 'confirmConfigurationScopes',
    summary: 'Grant an installation all that its integration asks anew, as it was seen',
    tag,
    needs: write,
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
    summary: 'Become the owner of an installation; one that was disabled acts again',
    tag,
    needs: write,
    load: findInstallation,
    guards: [notLimitedToProjects],
    run: transferAndShow,
    emits: ['integration-configuration.transferred'],
    refuses: ['not_found'],
    status: 200,
    reply: Configuration,
  }),
]

async function confirmAndShow(
  ctx: Ctx,
  configuration: FoundInstallation,
  { body }: Input<unknown, Static<typeof ConfirmScopes>>,
): Promise<Configuration> {
  await confirmScopes(ctx, configuration, body.scopes)
  return showInstallation(ctx, await findInstallation(ctx, { id: configuration.id }))
}

async function transferAndShow(ctx: Ctx, configuration: FoundInstallation): Promise<Configuration> {
  await transferOwnership(ctx, configuration)
  return showInstallation(ctx, await findInstallation(ctx, { id: configuration.id }))
}
