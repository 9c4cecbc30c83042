/**
 * An installation of an integration on one account, with its granted scopes and projects. The wire and the tables call it a configuration.
 * Specification: Integration configuration.
 */
import type { Ctx, Params } from '../context.ts'
import { chunks } from '../platform/db/chunks.ts'
import type { Queries } from '../platform/db/db.ts'
import type { Row } from '../platform/db/schema.ts'
import { refuse } from '../platform/refusals/refusal.ts'

export type Installation = Row<'configuration'>

export type InstallationWithIntegration = { installation: Installation; integration: Row<'integration'> }

/** Returns a query over the installations of all accounts, without removed ones. */
export function selectInstallations(db: Queries) {
  return db.selectFrom('configuration').selectAll('configuration').where('configuration.deleted_at', 'is', null)
}

/** Returns a query over the installations on the caller's account. An installation sees only itself. */
export function selectVisibleInstallations({ db, account, caller }: Ctx) {
  const all = selectInstallations(db).where('configuration.account_id', '=', account.id)
  return caller.installationId === null ? all : all.where('configuration.id', '=', caller.installationId)
}

/** Finds an installation that the caller can see. Refuses: not_found 404. */
export async function findInstallation(ctx: Ctx, params: Params): Promise<InstallationWithIntegration> {
  const id = params.id ?? ''
  const row = await selectVisibleInstallations(ctx).where('configuration.id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', `No installation "${id.slice(0, 100)}".`)
  return (await withIntegrations(ctx.db, [row]))[0]!
}

/** Returns the installation of an integration on an account, if any. */
export function readInstallationOn(
  db: Queries,
  integrationId: string,
  accountId: string,
): Promise<Installation | undefined> {
  return selectInstallations(db)
    .where('configuration.integration_id', '=', integrationId)
    .where('configuration.account_id', '=', accountId)
    .executeTakeFirst()
}

/** Returns each installation with its integration, in the same order. One query per 100 integrations. */
export async function withIntegrations(
  db: Queries,
  installations: readonly Installation[],
): Promise<InstallationWithIntegration[]> {
  const ids = new Set(installations.map((installation) => installation.integration_id))
  const integrations = new Map<string, Row<'integration'>>()
  for (const slice of chunks([...ids])) {
    const rows = await db.selectFrom('integration').selectAll().where('id', 'in', slice).execute()
    for (const row of rows) integrations.set(row.id, row)
  }
  return installations.map((installation) => ({
    installation,
    integration: integrations.get(installation.integration_id)!,
  }))
}
