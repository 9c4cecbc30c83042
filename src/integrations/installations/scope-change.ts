/**
 * Changes of the requested scopes. Removed scopes end on every installation at once. Added scopes are pending per installation until a user confirms
 * them; they are computed as requested minus granted. Specification: Integration configuration.
 */

import type { EventAccount, Input, OperatorCtx } from '../../context.ts'
import { eventAccount } from '../../model/account.ts'
import {
  type Installation,
  type InstallationWithIntegration,
  selectInstallations,
  withIntegrations,
} from '../../model/installation.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import type { Row } from '../../platform/db/schema.ts'
import { addedScopes, intersectScopes, normalizeScopes } from '../../platform/permissions/scope-levels.ts'
import { scopesOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { showIntegration, updateIntegration } from '../integrations/integrations.ts'
import type { Integration, PatchIntegration } from '../integrations/schema.ts'
import { mailPendingScopes } from './scope-mail.ts'

type Grant = Pick<Installation, 'id' | 'scopes_json'>
type Request = Pick<Row<'integration'>, 'scopes_json'>

/** Changes the fields in the body and applies a change of scopes to every installation. Refuses: bad_request 400. */
export async function updateIntegrationAndInstallations(
  ctx: OperatorCtx,
  integration: Row<'integration'>,
  { body }: Input<unknown, PatchIntegration>,
): Promise<Integration> {
  const changed = await updateIntegration(ctx, integration, body)
  await applyScopes(ctx, changed, scopesOf(integration))
  return showIntegration(ctx, changed)
}

/** Limits every grant to the requested scopes, and emails users who can confirm added ones. `before`: the scopes requested until now. */
async function applyScopes(ctx: OperatorCtx, integration: Row<'integration'>, before: string[]): Promise<void> {
  const requested = scopesOf(integration)
  if (requested.join() === before.join()) return
  await withdrawScopes(ctx, integration.id, requested)
  if (addedScopes(requested, before).length > 0) await mailPendingScopes(ctx, integration)
}

/** Returns the pending scopes, each with the level that it would get. */
export function pendingScopes(integration: Request, installation: Pick<Grant, 'scopes_json'>): string[] {
  return addedScopes(scopesOf(integration), scopesOf(installation))
}

/**
 * Grants all pending scopes, if they equal those that the user saw (`shown`). Emits `integration-configuration.scope-change-confirmed` for newly
 * granted ones. Returns the granted scopes. Refuses: scopes_changed 409 (other scopes are pending; the error lists them), not_found 404 (uninstalled
 * meanwhile).
 */
export async function confirmScopes(
  ctx: OperatorCtx,
  { id }: { id: string },
  shownScopes: readonly string[],
): Promise<string[]> {
  const { installation, integration } = await readAgain(ctx, id)
  const approved = normalizeScopes(shownScopes)
  const granted = scopesOf(installation)
  const pending = pendingScopes(integration, installation)
  if (pending.length === 0 && addedScopes(approved, granted).length === 0) return granted
  if (pending.join() !== approved.join()) {
    const now = pending.length === 0 ? 'nothing is pending' : `${pending.join(', ')} is pending`
    const message = `The requested scopes have changed: now ${now}. Review them, then confirm exactly those.`
    refuse('scopes_changed', message, { pendingScopes: pending })
  }
  const scopes = normalizeScopes([...granted, ...pending])
  await lockInstallationWrites(ctx.db, [id])
  const columns = { scopes_json: JSON.stringify(scopes), updated_at: ctx.now }
  await ctx.db.updateTable('configuration').set(columns).where('id', '=', id).execute()
  emitScopesConfirmed(ctx, { id, scopes }, await eventAccount(ctx.db, installation.account_id))
  return scopes
}

async function readAgain({ db }: OperatorCtx, id: string): Promise<InstallationWithIntegration> {
  const installation = await selectInstallations(db).where('configuration.id', '=', id).executeTakeFirst()
  if (installation === undefined) refuse('not_found', `No installation "${id}".`)
  return (await withIntegrations(db, [installation]))[0]!
}

/** Emits an event that `owner`, the account, confirmed the pending scopes, with the granted ones. Specification: Events. */
export function emitScopesConfirmed(
  ctx: Pick<OperatorCtx, 'emit'>,
  granted: { id: string; scopes: string[] },
  owner: EventAccount,
): void {
  const about = { installationId: granted.id }
  ctx.emit('integration-configuration.scope-change-confirmed', { configuration: granted }, about, owner)
}

/** One statement changes all installations with the same grant. */
async function withdrawScopes(ctx: OperatorCtx, integrationId: string, requested: readonly string[]): Promise<void> {
  const installations = await selectInstallations(ctx.db)
    .where('configuration.integration_id', '=', integrationId)
    .execute()
  const losing = installations.filter((row) => addedScopes(scopesOf(row), requested).length > 0)
  const ids = losing.map((row) => row.id)
  await lockInstallationWrites(ctx.db, ids)
  for (const scopes_json of new Set(losing.map((row) => row.scopes_json))) {
    const granted = intersectScopes(scopesOf({ scopes_json }), requested)
    await ctx.db
      .updateTable('configuration')
      .set({ scopes_json: JSON.stringify(granted), updated_at: ctx.now })
      .where('integration_id', '=', integrationId)
      .where('scopes_json', '=', scopes_json)
      .where('deleted_at', 'is', null)
      .execute()
  }
}
