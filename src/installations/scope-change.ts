/**
 * An integration asks for other scopes than before. What it gives up ends everywhere at once; what it wants more of waits on
 * each installation until a person has seen and confirmed it. What waits is not stored: it is what the integration asks
 * beyond what the installation was granted. Specification: Integration configuration; docs/integrations-life-cycle.md: Nothing pending is stored.
 */
import { waitForWritesOf } from '../access/installation.ts'
import type { EventOwner, OperatorCtx } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { queueMail } from '../mail/mail.ts'
import { lineOf } from '../mail/text.ts'
import { refuse } from '../refusal.ts'
import { ownerOf } from './remove.ts'
import { normalScopes, scopesBeyond, scopesWithin } from './scope-levels.ts'

type Asking = Pick<Row<'integration'>, 'id' | 'name' | 'scopes_json'>
type Granted = Pick<Row<'configuration'>, 'id' | 'scopes_json'>

/**
 * Changes what an integration asks for. Every installation keeps at most what is still asked, as of this commit; where
 * something is asked anew, those who can confirm it are mailed. The same request again changes nothing and mails nobody.
 */
export async function changeScopes(ctx: OperatorCtx, integration: Asking, scopes: readonly string[]): Promise<void> {
  const before = scopesOf(integration)
  const after = normalScopes(scopes)
  await ctx.db
    .updateTable('integration')
    .set({ scopes_json: JSON.stringify(after), updated_at: ctx.now })
    .where('id', '=', integration.id)
    .execute()
  await withdraw(ctx, integration.id, after)
  if (scopesBeyond(after, before).length > 0) await mailPending(ctx, integration, after)
}

/** What waits for a confirmation, each scope at the level that it would have. */
export function pendingScopes(integration: Pick<Asking, 'scopes_json'>, configuration: Granted): string[] {
  return scopesBeyond(scopesOf(integration), scopesOf(configuration))
}

/**
 * Grants what a person saw waiting and confirmed, all of it together; tells `integration-configuration.scope-change-confirmed`.
 * What is granted already is not confirmed, or told, twice. Gives what is granted now. Refuses: scopes_changed 409 (what
 * waits is not what the person saw; the answer lists what waits), not_found 404 (uninstalled meanwhile).
 */
export async function confirmScopes(
  ctx: OperatorCtx,
  { id }: Pick<Granted, 'id'>,
  shown: readonly string[],
): Promise<string[]> {
  const now = await ctx.db
    .selectFrom('configuration')
    .innerJoin('integration', 'integration.id', 'configuration.integration_id')
    .select(['configuration.account_id', 'configuration.scopes_json', 'integration.scopes_json as asked_json'])
    .where('configuration.id', '=', id)
    .where('configuration.deleted_at', 'is', null)
    .executeTakeFirst()
  if (now === undefined) refuse('not_found', `No installation "${id}".`)
  const seen = normalScopes(shown)
  const granted = scopesOf(now)
  const pending = scopesBeyond(scopesOf({ scopes_json: now.asked_json }), granted)
  if (pending.length === 0 && scopesBeyond(seen, granted).length === 0) return granted
  if (pending.join() !== seen.join()) {
    const waits = pending.length === 0 ? 'nothing' : pending.join(', ')
    const message = `What the integration asks for has changed: ${waits} waits now. Look again, then confirm exactly that.`
    refuse('scopes_changed', message, { pendingScopes: pending })
  }
  const scopes = normalScopes([...granted, ...pending])
  const columns = { scopes_json: JSON.stringify(scopes), updated_at: ctx.now }
  await ctx.db.updateTable('configuration').set(columns).where('id', '=', id).execute()
  tellConfirmed(ctx, { id, scopes }, await ownerOf(ctx, now.account_id))
  return scopes
}

/** Tells `owner`, the account of an installation, that its pending scopes were confirmed, and what it may do now. Specification: Events. */
export function tellConfirmed(
  ctx: Pick<OperatorCtx, 'emit'>,
  configuration: { id: string; scopes: string[] },
  owner: EventOwner,
): void {
  const about = { installationId: configuration.id }
  ctx.emit('integration-configuration.scope-change-confirmed', { configuration }, about, owner)
}

/** Installations that were granted the same are changed by one statement. */
async function withdraw(ctx: OperatorCtx, integrationId: string, requested: readonly string[]): Promise<void> {
  const installed = await ctx.db
    .selectFrom('configuration')
    .select(['id', 'scopes_json'])
    .where('integration_id', '=', integrationId)
    .where('deleted_at', 'is', null)
    .execute()
  const loses = installed.filter((row) => scopesBeyond(scopesOf(row), requested).length > 0)
  if (loses.length > 0)
    await waitForWritesOf(
      ctx.db,
      loses.map((row) => row.id),
    )
  for (const scopes_json of new Set(loses.map((row) => row.scopes_json))) {
    const kept = scopesWithin(scopesOf({ scopes_json }), requested)
    await ctx.db
      .updateTable('configuration')
      .set({ scopes_json: JSON.stringify(kept), updated_at: ctx.now })
      .where('integration_id', '=', integrationId)
      .where('scopes_json', '=', scopes_json)
      .where('deleted_at', 'is', null)
      .execute()
  }
}

type Waiting = { installationId: string; account: string; pending: string[] }

/** One letter a person, with all that waits for that person. */
async function mailPending(ctx: OperatorCtx, integration: Asking, requested: string[]): Promise<void> {
  const waiting = new Map<string, Waiting[]>()
  for (const row of await confirmers(ctx, integration.id)) {
    const pending = scopesBeyond(requested, scopesOf(row))
    if (pending.length === 0 || row.email === null) continue
    const all = waiting.get(row.email) ?? []
    waiting.set(row.email, [...all, { installationId: row.id, account: row.slug, pending }])
  }
  const name = lineOf(integration.name)
  for (const [recipient, installations] of waiting) {
    await queueMail(ctx, {
      topic: `scopes ${integration.id}`,
      recipient,
      subject: `${name} asks for more access`,
      text: letterOf(ctx, name, installations),
    })
  }
}

/** Who can confirm: on a personal account its user, on a team its owners. One row an installation and person. */
async function confirmers(ctx: OperatorCtx, integrationId: string) {
  const installed = ctx.db
    .selectFrom('configuration')
    .innerJoin('account', 'account.id', 'configuration.account_id')
    .where('configuration.integration_id', '=', integrationId)
    .where('configuration.deleted_at', 'is', null)
    .select(['configuration.id', 'configuration.scopes_json', 'account.slug'])
  const personal = installed.where('account.kind', '=', 'user').select('account.email')
  const ofTeams = installed
    .innerJoin('member', 'member.team_id', 'account.id')
    .innerJoin('account as owner', 'owner.id', 'member.user_id')
    .where('member.role', '=', 'OWNER')
    .select('owner.email')
  return [...(await personal.execute()), ...(await ofTeams.execute())]
}

function letterOf({ deps }: OperatorCtx, name: string, installations: readonly Waiting[]): string {
  const parts = installations.map(({ installationId, account, pending }) => [
    `On ${account}:`,
    ...pending.map((scope) => `  ${scope}`),
    'See it, and confirm or leave it as it is:',
    `${deps.origin()}/integrations/confirm/${installationId}`,
    '',
  ])
  return [
    `The integration ${name} asks for more access than it has.`,
    '',
    ...parts.flat(),
    'Until you confirm, it goes on with the access that it has.',
  ].join('\n')
}

function scopesOf({ scopes_json }: { scopes_json: string }): string[] {
  return JSON.parse(scopes_json) as string[]
}
