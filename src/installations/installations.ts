/** Installations as the account that has them, and the installation itself, see and change them. docs/spec/wire.md 6; docs/integrations.md: The projects of an installation. */
import { seesProject } from '../access/guards.ts'
import { momentOf } from '../clock.ts'
import type { Ctx, Input, Params } from '../context.ts'
import { slices } from '../db/chunks.ts'
import type { Row } from '../db/schema.ts'
import type { Configuration, ConfigurationsQuery } from '../integrations/schema.ts'
import { refuse } from '../refusal.ts'
import { pendingScopes } from './scope-change.ts'

/** An account has one installation of an integration; this many integrations are listed. */
const MOST_LISTED = 1000

/** Lists the installations on the account, newest first. An installation sees itself and no other. */
export async function listInstallations(
  ctx: Ctx,
  _: undefined,
  { query }: Input<ConfigurationsQuery>,
): Promise<Configuration[]> {
  const { installationType, integrationIdOrSlug: said } = query
  let found = visible(ctx)
  if (installationType === 'marketplace') found = found.where('configuration.source', '=', 'marketplace')
  if (installationType === 'external') found = found.where('configuration.source', '!=', 'marketplace')
  if (said !== undefined) {
    found = found.where((eb) => eb.or([eb('integration.id', '=', said), eb('integration.slug', '=', said)]))
  }
  const rows = await found.orderBy('configuration.created_stamp', 'desc').limit(MOST_LISTED).execute()
  const selected = await selectedProjects(ctx, rows)
  return rows.map((row) => showRow(row, selected))
}

export type FoundInstallation = Row<'configuration'> & {
  integration_slug: string
  integration_name: string
  integration_logo_url: string | null
  integration_scopes_json: string
  account_kind: 'user' | 'team'
}

/** An installation on the account; to an installation, itself. Refuses: not_found 404. */
export async function findInstallation(ctx: Ctx, params: Params): Promise<FoundInstallation> {
  const id = params.id ?? ''
  const row = await visible(ctx).where('configuration.id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', `No installation "${id.slice(0, 100)}".`)
  return row
}

/** One installation as it is answered. */
export async function showInstallation(ctx: Ctx, row: FoundInstallation): Promise<Configuration> {
  return showRow(row, await selectedProjects(ctx, [row]))
}

function visible(ctx: Ctx) {
  const ofAccount = ctx.db
    .selectFrom('configuration')
    .innerJoin('integration', 'integration.id', 'configuration.integration_id')
    .selectAll('configuration')
    .select([
      'integration.slug as integration_slug',
      'integration.name as integration_name',
      'integration.logo_url as integration_logo_url',
      'integration.scopes_json as integration_scopes_json',
      (eb) => eb.val(ctx.account.kind).as('account_kind'),
    ])
    .where('configuration.account_id', '=', ctx.account.id)
    .where('configuration.deleted_at', 'is', null)
  const { installationId } = ctx.who
  return installationId === null ? ofAccount : ofAccount.where('configuration.id', '=', installationId)
}

/**
 * The selections of those installations that have one, as the caller may know them: of projects that a token does not see it
 * learns no ids.
 */
async function selectedProjects(
  ctx: Pick<Ctx, 'db' | 'who'>,
  rows: Pick<Row<'configuration'>, 'id' | 'project_selection'>[],
): Promise<Map<string, string[]>> {
  const all = new Map<string, string[]>()
  for (const { id, project_selection } of rows) if (project_selection === 'selected') all.set(id, [])
  for (const slice of slices([...all.keys()])) {
    const found = await ctx.db
      .selectFrom('configuration_project')
      .selectAll()
      .where('configuration_id', 'in', slice)
      .orderBy('project_id')
      .execute()
    for (const { configuration_id, project_id } of found) {
      if (seesProject(ctx.who, project_id)) all.get(configuration_id)!.push(project_id)
    }
  }
  return all
}

/** What is not there is left out, not null: docs/spec/wire.md 6. */
function showRow(row: FoundInstallation, selected: Map<string, string[]>): Configuration {
  const projects = selected.get(row.id)
  return {
    id: row.id,
    type: 'integration-configuration',
    integrationId: row.integration_id,
    ownerId: row.account_id,
    slug: row.integration_slug,
    userId: row.user_id,
    teamId: row.account_kind === 'team' ? row.account_id : null,
    scopes: JSON.parse(row.scopes_json) as string[],
    pendingScopes: pendingScopes({ scopes_json: row.integration_scopes_json }, row),
    ...(projects !== undefined && { projects }),
    projectSelection: row.project_selection,
    source: row.source,
    installationType: row.source === 'marketplace' ? 'marketplace' : 'external',
    createdAt: momentOf(row.created_stamp),
    updatedAt: row.updated_at,
    ...(row.completed_at !== null && { completedAt: row.completed_at }),
    ...(row.disabled_at !== null && { disabledAt: row.disabled_at }),
    ...(row.disabled_reason !== null && { disabledReason: row.disabled_reason }),
    integration: {
      name: row.integration_name,
      icon: row.integration_logo_url ?? '',
      category: 'other',
      isLegacy: false,
      slug: row.integration_slug,
    },
  }
}
