import {
  type Installation,
  type InstallationWithIntegration,
  selectInstallations,
  withIntegrations,
} from '../../model/installation.ts'
import { findOwnAccount, type OwnAccount } from '../../platform/pages/own-accounts.ts'
import type { UserPageCtx } from '../../platform/pages/screen.ts'
import { permissionsOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

export type AccountInstallation = InstallationWithIntegration & {
  /** Name of the team that runs the integration. */
  runBy: string
  /** Name of the user who owns the installation. */
  ownedBy: string
  account: OwnAccount
}

/** Finds an installation on an account of the user. Refuses: not_found 404 (also when the user's role does not show it). */
export async function findAccountInstallation(ctx: UserPageCtx, id: string): Promise<AccountInstallation> {
  const row = await selectInstallations(ctx.db).where('configuration.id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', NO_INSTALLATION)
  const account = await findOwnAccount(ctx, row.account_id)
  if (!canSeeInstallations(account)) refuse('not_found', NO_INSTALLATION)
  return (await withNames(ctx, [row], account))[0]!
}

const NO_INSTALLATION = 'Installation not found, or it is on an account that you cannot see.'

/** As `findAccountInstallation`, for a user who can change it. Refuses: not_found 404, owner_only 403. */
export async function findManageableInstallation(ctx: UserPageCtx, id: string): Promise<AccountInstallation> {
  const installation = await findAccountInstallation(ctx, id)
  if (installation.account.role !== 'OWNER') refuse('owner_only')
  return installation
}

/** Whether the user's role shows the installations of the account. */
export function canSeeInstallations(account: OwnAccount): boolean {
  return permissionsOf(account.role, null).has('installation:read')
}

/** Lists the installations on an account, newest first, at most `limit`. */
export async function listAccountInstallations(
  ctx: UserPageCtx,
  account: OwnAccount,
  limit: number,
): Promise<AccountInstallation[]> {
  const rows = await selectInstallations(ctx.db)
    .where('account_id', '=', account.id)
    .orderBy('created_stamp', 'desc')
    .limit(limit)
    .execute()
  return rows.length === 0 ? [] : withNames(ctx, rows, account)
}

/** Returns the names of the selected projects, at most `limit`; undefined when the installation sees all projects. */
export async function readSelectedNames(
  ctx: UserPageCtx,
  installation: Installation,
  limit: number,
): Promise<string[] | undefined> {
  if (installation.project_selection === 'all') return undefined
  const rows = await ctx.db
    .selectFrom('configuration_project')
    .innerJoin('project', 'project.id', 'configuration_project.project_id')
    .select('project.name')
    .where('configuration_project.configuration_id', '=', installation.id)
    .orderBy('project.name')
    .limit(limit)
    .execute()
  return rows.map((row) => row.name)
}

async function withNames(ctx: UserPageCtx, rows: Installation[], account: OwnAccount): Promise<AccountInstallation[]> {
  const installations = await withIntegrations(ctx.db, rows)
  const ids = installations.flatMap(({ installation, integration }) => [integration.team_id, installation.user_id])
  const accounts = await ctx.db.selectFrom('account').select(['id', 'slug', 'name']).where('id', 'in', ids).execute()
  const names = new Map(accounts.map(({ id, slug, name }) => [id, name ?? slug]))
  return installations.map(({ installation, integration }) => ({
    installation,
    integration,
    runBy: names.get(integration.team_id) ?? integration.team_id,
    ownedBy: names.get(installation.user_id) ?? installation.user_id,
    account,
  }))
}
