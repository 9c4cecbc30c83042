/** Installations as their account and the installation itself see them. docs/spec/wire.md 6. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import {
  type InstallationWithIntegration,
  selectInstallations,
  selectVisibleInstallations,
  withIntegrations,
} from '../../model/installation.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { newestPage } from '../../platform/http/pagination.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import type { Configuration, ConfigurationsQuery, InstallationsOf, InstallationsOfQuery } from './schema.ts'
import { pendingScopes } from './scope-change.ts'
import { MAX_LISTED_PROJECTS, readVisibleSelections } from './selection.ts'

/** The limit per list. An account has one installation per integration. */
const MAX_LISTED = 1000

/** Lists the installations on the account, newest first, without long selections. An installation sees only itself. */
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
  const rows = await select.orderBy('created_stamp', 'desc').limit(MAX_LISTED).execute()
  const selections = await readVisibleSelections(ctx, rows, MAX_LISTED_PROJECTS)
  return (await withIntegrations(ctx.db, rows)).map((installation) => showFound(ctx, installation, selections))
}

/** Lists the installations of an integration on all accounts, newest first, for the team that runs it. */
export async function listIntegrationInstallations(
  ctx: Ctx,
  integration: Row<'integration'>,
  { query }: Input<Static<typeof InstallationsOfQuery>>,
): Promise<Static<typeof InstallationsOf>> {
  const ofIntegration = selectInstallations(ctx.db).where('integration_id', '=', integration.id)
  const { rows, pagination } = await newestPage(ofIntegration, query)
  const installations = rows.map((row) => ({
    id: row.id,
    ownerId: row.account_id,
    scopes: scopesOf(row),
    pendingScopes: pendingScopes(integration, row),
    projectSelection: row.project_selection,
    createdAt: stampToMs(row.created_stamp),
    completedAt: row.completed_at,
    disabledAt: row.disabled_at,
  }))
  return { installations, pagination }
}

/** Formats an installation. */
export async function showInstallation(ctx: Ctx, installation: InstallationWithIntegration): Promise<Configuration> {
  return showFound(ctx, installation, await readVisibleSelections(ctx, [installation.installation]))
}

/** Omits absent fields instead of null: docs/spec/wire.md 6. */
function showFound(
  { account }: Ctx,
  { installation, integration }: InstallationWithIntegration,
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
    createdAt: stampToMs(installation.created_stamp),
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
