/**
 * Installations whose owner left the team, or may not run integrations any more: disabled at once, so that nothing acts on
 * in the name of nobody, and deleted after 30 days. Specification: Integration configuration; docs/integrations-life-cycle.md: Who enables a disabled installation.
 */
import type { ExpressionBuilder } from 'kysely'
import { waitForWritesOf } from '../access/installation.ts'
import type { OperatorCtx } from '../context.ts'
import type { Row, Schema } from '../db/schema.ts'
import { mailOwners } from '../mail/owners.ts'
import { lineOf } from '../mail/text.ts'
import type { Role } from '../permissions/roles.ts'
import { removeInstallation } from './remove.ts'

type Reason = NonNullable<Row<'configuration'>['disabled_reason']>
type Team = Pick<Row<'account'>, 'id' | 'slug'>

export const DISABLED_KEPT_MS = 30 * 86_400_000

/** Whether who has this role may go on owning installations. docs/spec/decisions.md: Integrations. */
export function mayOwnInstallations(role: Role): boolean {
  return role === 'OWNER' || role === 'MEMBER'
}

/**
 * Disables what a user owns on a team, and mails the owners that the team has now. What is disabled already stays as it is:
 * its 30 days run from when it was.
 */
export async function disableInstallationsOf(
  ctx: OperatorCtx,
  team: Team,
  userId: string,
  reason: Reason,
): Promise<void> {
  // A suspension can be taken back; an end of access takes its place.
  const disabledBy = (eb: ExpressionBuilder<Schema, 'configuration'>) =>
    reason === 'disabled-by-admin'
      ? eb('disabled_at', 'is', null)
      : eb.or([eb('disabled_at', 'is', null), eb('disabled_reason', '=', 'disabled-by-admin')])
  const enabled = await ctx.db
    .selectFrom('configuration')
    .select('id')
    .where('account_id', '=', team.id)
    .where('user_id', '=', userId)
    .where(disabledBy)
    .where('deleted_at', 'is', null)
    .execute()
  if (enabled.length === 0) return
  await waitForWritesOf(
    ctx.db,
    enabled.map((row) => row.id),
  )
  const disabled = await ctx.db
    .updateTable('configuration')
    .set({ disabled_at: ctx.now, disabled_reason: reason, updated_at: ctx.now })
    .where('account_id', '=', team.id)
    .where('user_id', '=', userId)
    .where(disabledBy)
    .where('deleted_at', 'is', null)
    .returning('integration_id')
    .execute()
  if (disabled.length > 0)
    await tellOwners(
      ctx,
      team,
      userId,
      reason,
      disabled.map((row) => row.integration_id),
    )
}

async function tellOwners(ctx: OperatorCtx, team: Team, userId: string, reason: Reason, integrationIds: string[]) {
  const integrations = await ctx.db
    .selectFrom('integration')
    .select('name')
    .where('id', 'in', integrationIds)
    .orderBy('name')
    .execute()
  const user = await ctx.db.selectFrom('account').select('slug').where('id', '=', userId).executeTakeFirst()
  const text = [
    `${user?.slug ?? userId}, who ${WHY[reason]}, had installed on the team ${team.slug}:`,
    '',
    ...integrations.map(({ name }) => `  ${lineOf(name)}`),
    '',
    'It is disabled: its access is refused and its webhooks are held. An owner of the team can take it over;',
    reason === 'disabled-by-admin'
      ? 'until then it stays as it is. See what is installed:'
      : 'after 30 days it is deleted, with the environment variables that it made. See what is installed:',
    `${ctx.deps.origin()}/integrations/installed?teamId=${team.id}`,
  ].join('\n')
  await mailOwners(ctx, team.id, { subject: `Integrations of ${team.slug} are disabled`, text })
}

/** Of who owned it. */
export const WHY: Record<Reason, string> = {
  'original-owner-left-the-team': 'left the team',
  'original-owner-role-downgraded': 'may not run integrations any more',
  'disabled-by-admin': 'is suspended by the operator',
}

/** Sweep: installations that nobody took over in 30 days are removed. */
export async function removeLongDisabled(ctx: OperatorCtx, limit: number): Promise<number> {
  const due = await ctx.db
    .selectFrom('configuration')
    .selectAll()
    .where('disabled_at', '<=', ctx.now - DISABLED_KEPT_MS)
    // Who is suspended may come back to all of it.
    .where((eb) => eb.or([eb('disabled_reason', 'is', null), eb('disabled_reason', '!=', 'disabled-by-admin')]))
    .where('deleted_at', 'is', null)
    .orderBy('disabled_at')
    .limit(limit)
    .execute()
  // Read and removed in one serializable transaction: one that is taken over meanwhile makes this run again, without it.
  for (const configuration of due) await removeInstallation(ctx, configuration)
  return due.length
}

/** A used code is remembered for a day after it ended, so that who uses it again ends the token that it gave. */
const CODES_REMEMBERED_MS = 86_400_000

/** Sweep: codes that ended long ago go. */
export async function forgetOldCodes(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('authorization_code')
    .select('hash')
    .where('expires_at', '<=', ctx.now - CODES_REMEMBERED_MS)
    .limit(limit)
  const gone = await ctx.db.deleteFrom('authorization_code').where('hash', 'in', old).returning('hash').execute()
  return gone.length
}
