/** What is installed, as the pages ask it: on which of a person's accounts, by whom, with which projects. */

import type { Row } from '../db/schema.ts'
import { findOwnAccount, type OwnAccount } from '../pages/acting.ts'
import type { PersonCtx } from '../pages/screen.ts'
import { permissionsOf } from '../permissions/scopes.ts'
import { refuse } from '../refusal.ts'

export type Installation = {
  configuration: Row<'configuration'>
  integration: Row<'integration'>
  /** The team that runs the integration. */
  runBy: string
  /** Who installed it or took it over. */
  ownedBy: string
  account: OwnAccount
}

/** An installation on an account of the person's. Refuses: not_found 404, also where the person may not see it. */
export async function findInstallation(ctx: PersonCtx, configurationId: string): Promise<Installation> {
  const row = await configurations(ctx).where('configuration.id', '=', configurationId).executeTakeFirst()
  if (row === undefined) refuse('not_found', NO_INSTALLATION)
  const account = await findOwnAccount(ctx, row.account_id)
  if (!maySee(account)) refuse('not_found', NO_INSTALLATION)
  const [installation] = await withIntegrations(ctx, [row], account)
  return installation!
}

const NO_INSTALLATION = 'There is no such installation, or it is on an account that you have no part in.'

/** The same, for those who may change it. Refuses: not_found 404, owner_only 403. */
export async function findOwnInstallation(ctx: PersonCtx, configurationId: string): Promise<Installation> {
  const installation = await findInstallation(ctx, configurationId)
  if (installation.account.role !== 'OWNER') refuse('owner_only')
  return installation
}

/** Whether the role shows what is installed. */
export function maySee(account: OwnAccount): boolean {
  return permissionsOf(account.role, null).has('integration:read')
}

/** What is installed on an account, newest first, `limit` at most. */
export async function installationsOn(ctx: PersonCtx, account: OwnAccount, limit: number): Promise<Installation[]> {
  const rows = await configurations(ctx)
    .where('account_id', '=', account.id)
    .orderBy('created_stamp', 'desc')
    .limit(limit)
    .execute()
  return rows.length === 0 ? [] : withIntegrations(ctx, rows, account)
}

/** The names of the selected projects, the first `limit`. Undefined: all projects of the account. */
export async function selectedProjects(
  ctx: PersonCtx,
  configuration: Row<'configuration'>,
  limit: number,
): Promise<{ id: string; name: string }[] | undefined> {
  if (configuration.project_selection === 'all') return undefined
  return ctx.db
    .selectFrom('configuration_project')
    .innerJoin('project', 'project.id', 'configuration_project.project_id')
    .select(['project.id', 'project.name'])
    .where('configuration_project.configuration_id', '=', configuration.id)
    .orderBy('project.name')
    .limit(limit)
    .execute()
}

function configurations(ctx: PersonCtx) {
  return ctx.db.selectFrom('configuration').selectAll().where('deleted_at', 'is', null)
}

async function withIntegrations(ctx: PersonCtx, rows: Row<'configuration'>[], account: OwnAccount) {
  const integrations = await ctx.db
    .selectFrom('integration')
    .selectAll()
    .where(
      'id',
      'in',
      rows.map((row) => row.integration_id),
    )
    .execute()
  const ids = [...integrations.map((row) => row.team_id), ...rows.map((row) => row.user_id)]
  const named = await ctx.db.selectFrom('account').select(['id', 'slug', 'name']).where('id', 'in', ids).execute()
  const nameFor = (id: string) => {
    const found = named.find((one) => one.id === id)
    return found?.name ?? found?.slug ?? id
  }
  return rows.map((configuration) => {
    const integration = integrations.find((one) => one.id === configuration.integration_id)!
    return {
      configuration,
      integration,
      runBy: nameFor(integration.team_id),
      ownedBy: nameFor(configuration.user_id),
      account,
    }
  })
}
