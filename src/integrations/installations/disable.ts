/**
 * An installation must have an owner with access. When that ends, it is disabled at once and removed after 30 days. Specification: Integration
 * configuration; docs/integrations-life-cycle.md.
 */
import type { ExpressionBuilder } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { type Installation, selectInstallations } from '../../model/installation.ts'
import { lockInstallationWrites } from '../../platform/access/installation.ts'
import type { Row, Schema } from '../../platform/db/schema.ts'
import { mailOwners } from '../../platform/mail/owners.ts'
import { toSingleLine } from '../../platform/mail/text.ts'
import { removeInstallation } from './remove.ts'

type Reason = NonNullable<Installation['disabled_reason']>
type Team = Pick<Row<'account'>, 'id' | 'slug'>

/** How long a disabled installation can get a new owner. Specification: Limits. */
export const DISABLED_RETENTION_MS = 30 * 86_400_000

/** Disables the installations of a user on a team and emails the team's OWNERs. An installation that is disabled already keeps its 30 days. */
export async function disableInstallationsOf(
  ctx: OperatorCtx,
  team: Team,
  userId: string,
  reason: Reason,
): Promise<void> {
  // A suspension can be lifted, a loss of access cannot. So the latter replaces a suspension as the reason.
  const disabledBy = (eb: ExpressionBuilder<Schema, 'configuration'>) =>
    reason === 'disabled-by-admin'
      ? eb('disabled_at', 'is', null)
      : eb.or([eb('disabled_at', 'is', null), eb('disabled_reason', '=', 'disabled-by-admin')])
  const owned = await selectInstallations(ctx.db)
    .where('account_id', '=', team.id)
    .where('user_id', '=', userId)
    .where(disabledBy)
    .execute()
  if (owned.length === 0) return
  const ids = owned.map((row) => row.id)
  await lockInstallationWrites(ctx.db, ids)
  const disabled = await ctx.db
    .updateTable('configuration')
    .set({ disabled_at: ctx.now, disabled_reason: reason, updated_at: ctx.now })
    .where('account_id', '=', team.id)
    .where('user_id', '=', userId)
    .where(disabledBy)
    .where('deleted_at', 'is', null)
    .returning('integration_id')
    .execute()
  const integrationIds = disabled.map((row) => row.integration_id)
  if (integrationIds.length > 0) await mailDisabled(ctx, team, userId, reason, integrationIds)
}

async function mailDisabled(ctx: OperatorCtx, team: Team, userId: string, reason: Reason, integrationIds: string[]) {
  const integrations = await ctx.db
    .selectFrom('integration')
    .select('name')
    .where('id', 'in', integrationIds)
    .orderBy('name')
    .execute()
  const user = await ctx.db.selectFrom('account').select('slug').where('id', '=', userId).executeTakeFirst()
  const name = user?.slug ?? userId
  const text = [
    `${name} ${DISABLED_REASON_TEXT[reason]}. The integrations that ${name} owned on the team ${team.slug} are disabled:`,
    '',
    ...integrations.map((integration) => `  ${toSingleLine(integration.name)}`),
    '',
    'Their requests are refused and their webhooks are on hold. An OWNER of the team can become their owner.',
    reason === 'disabled-by-admin'
      ? 'Until then they stay disabled. See all installed integrations:'
      : 'After 30 days they are removed, with the environment variables that they created. See all installed integrations:',
    `${ctx.deps.origin()}/integrations/installed?teamId=${team.id}`,
  ].join('\n')
  await mailOwners(ctx, team.id, { subject: `Integrations of ${team.slug} are disabled`, text })
}

/** What happened to the owner of the installation, as the end of a sentence about that user. */
export const DISABLED_REASON_TEXT: Record<Reason, string> = {
  'original-owner-left-the-team': 'left the team',
  'original-owner-role-downgraded': 'no longer has a role that may own integrations',
  'disabled-by-admin': 'is suspended by the operator',
}

/** Sweep: removes installations that got no new owner within 30 days. */
export async function purgeDisabledInstallations(ctx: OperatorCtx, limit: number): Promise<number> {
  const due = await selectInstallations(ctx.db)
    .where('disabled_at', '<=', ctx.now - DISABLED_RETENTION_MS)
    // A suspended user may return, so their installations stay.
    .where((eb) => eb.or([eb('disabled_reason', 'is', null), eb('disabled_reason', '!=', 'disabled-by-admin')]))
    .orderBy('disabled_at')
    .limit(limit)
    .execute()
  // Reads and removes in one serializable transaction. If one gets a new owner meanwhile, it runs again without that one.
  for (const installation of due) await removeInstallation(ctx, installation)
  return due.length
}
