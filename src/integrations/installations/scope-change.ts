/**
 * An integration requests other scopes than before. Scopes that it gives up end on every installation at once. Scopes that it
 * adds are pending on each installation until a person has seen and confirmed them. Pending scopes are not stored: they are
 * what the integration requests beyond what the installation was granted. Specification: Integration configuration.
 */

import type { EventAccount, Input, OperatorCtx } from '../../context.ts'
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
import { ownerOf } from './remove.ts'
import { mailPendingScopes } from './scope-mail.ts'

type Grant = Pick<Installation, 'id' | 'scopes_json'>
type Request = Pick<Row<'integration'>, 'scopes_json'>

/** Changes the fields that the body has, and carries a change of scopes to every installation. Refuses: bad_request 400. */
export async function updateIntegrationAndInstallations(
  ctx: OperatorCtx,
  integration: Row<'integration'>,
  { body }: Input<unknown, PatchIntegration>,
): Promise<Integration> {
  const changed = await updateIntegration(ctx, integration, body)
  await applyScopes(ctx, changed, scopesOf(integration))
  return showIntegration(ctx, changed)
}

/**
 * Cuts the grant of every installation to what the integration requests now, as of this commit. Mails those who can confirm the
 * scopes that are requested anew. `before`: what it requested until now; where nothing was added, nobody is mailed.
 */
async function applyScopes(ctx: OperatorCtx, integration: Row<'integration'>, before: string[]): Promise<void> {
  const requested = scopesOf(integration)
  if (requested.join() === before.join()) return
  await withdrawScopes(ctx, integration.id, requested)
  if (addedScopes(requested, before).length > 0) await mailPendingScopes(ctx, integration)
}

/** The scopes that wait for a confirmation, each at the level that it would have. */
export function pendingScopes(integration: Request, installation: Pick<Grant, 'scopes_json'>): string[] {
  return addedScopes(scopesOf(integration), scopesOf(installation))
}

/**
 * Grants all pending scopes together, when they are the ones that a person saw and confirmed (`shown`). Emits
 * `integration-configuration.scope-change-confirmed`. Scopes that are granted already are not confirmed, or told, twice. Gives
 * the scopes that are granted now. Refuses: scopes_changed 409 (other scopes are pending; the answer lists them), not_found 404
 * (uninstalled meanwhile).
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
    const message = `What the integration requests has changed: now ${now}. Look again, then confirm exactly that.`
    refuse('scopes_changed', message, { pendingScopes: pending })
  }
  const scopes = normalizeScopes([...granted, ...pending])
  const columns = { scopes_json: JSON.stringify(scopes), updated_at: ctx.now }
  await ctx.db.updateTable('configuration').set(columns).where('id', '=', id).execute()
  emitScopesConfirmed(ctx, { id, scopes }, await ownerOf(ctx, installation.account_id))
  return scopes
}

async function readAgain({ db }: OperatorCtx, id: string): Promise<InstallationWithIntegration> {
  const installation = await selectInstallations(db).where('configuration.id', '=', id).executeTakeFirst()
  if (installation === undefined) refuse('not_found', `No installation "${id}".`)
  return (await withIntegrations(db, [installation]))[0]!
}

/** Tells `owner`, the account of an installation, that its pending scopes were confirmed, and what is granted now. Specification: Events. */
export function emitScopesConfirmed(
  ctx: Pick<OperatorCtx, 'emit'>,
  granted: { id: string; scopes: string[] },
  owner: EventAccount,
): void {
  const about = { installationId: granted.id }
  ctx.emit('integration-configuration.scope-change-confirmed', { configuration: granted }, about, owner)
}

/** Installations with the same grant are changed by one statement. */
async function withdrawScopes(ctx: OperatorCtx, integrationId: string, requested: readonly string[]): Promise<void> {
  const installations = await selectInstallations(ctx.db)
    .where('configuration.integration_id', '=', integrationId)
    .execute()
  const losing = installations.filter((row) => addedScopes(scopesOf(row), requested).length > 0)
  if (losing.length === 0) return
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
