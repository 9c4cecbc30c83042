/** Installations as people of their account see them, and as an installation sees itself. docs/spec/wire.md 6. */
import { momentOf } from '../clock.ts'
import type { Ctx, Input } from '../context.ts'
import { type FoundInstallation, selectVisibleInstallations, withIntegrations } from '../model/installation.ts'
import { scopesOf } from '../permissions/scopes.ts'
import type { Configuration, ConfigurationsQuery } from './schema.ts'
import { pendingScopes } from './scope-change.ts'
import { readVisibleSelections } from './selection.ts'

/** An account has one installation of an integration. The newest of this many integrations are listed. */
const MOST_LISTED = 1000

/** Lists the installations on the account, newest first. An installation sees itself and no other. */
export async function listInstallations(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ConfigurationsQuery>,
): Promise<Configuration[]> {
  const { installationType, integrationIdOrSlug: idOrSlug } = query
  let select = selectVisibleInstallations(ctx)
  if (installationType === 'marketplace') select = select.where('source', '=', 'marketplace')
  if (installationType === 'external') select = select.where('source', '!=', 'marketplace')
  if (idOrSlug !== undefined) {
    const integration = ctx.db.selectFrom('integration').select('id')
    select = select.where(
      'integration_id',
      'in',
      integration.where((eb) => eb.or([eb('id', '=', idOrSlug), eb('slug', '=', idOrSlug)])),
    )
  }
  const rows = await select.orderBy('created_stamp', 'desc').limit(MOST_LISTED).execute()
  const selections = await readVisibleSelections(ctx, rows)
  return (await withIntegrations(ctx.db, rows)).map((installation) => showFound(ctx, installation, selections))
}

/** An installation as the answer shows it. */
export async function showInstallation(ctx: Ctx, installation: FoundInstallation): Promise<Configuration> {
  return showFound(ctx, installation, await readVisibleSelections(ctx, [installation.installation]))
}

/** An absent field is left out, not null: docs/spec/wire.md 6. */
function showFound(
  { account }: Ctx,
  { installation, integration }: FoundInstallation,
  selections: ReadonlyMap<string, string[]>,
): Configuration {
  const projects = selections.get(installation.id)
  const { completed_at, disabled_at, disabled_reason } = installation
  return {
    id: installation.id,
    type: 'integration-configuration',
    integrationId: integration.id,
    ownerId: installation.account_id,
    slug: integration.slug,
    userId: installation.user_id,
    teamId: account.kind === 'team' ? account.id : null,
    scopes: scopesOf(installation),
    pendingScopes: pendingScopes(integration, installation),
    ...(projects !== undefined && { projects }),
    projectSelection: installation.project_selection,
    source: installation.source,
    installationType: installation.source === 'marketplace' ? 'marketplace' : 'external',
    createdAt: momentOf(installation.created_stamp),
    updatedAt: installation.updated_at,
    ...(completed_at !== null && { completedAt: completed_at }),
    ...(disabled_at !== null && { disabledAt: disabled_at }),
    ...(disabled_reason !== null && { disabledReason: disabled_reason }),
    integration: {
      name: integration.name,
      icon: integration.logo_url ?? '',
      category: 'other',
      isLegacy: false,
      slug: integration.slug,
    },
  }
}
