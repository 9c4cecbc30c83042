/** Loss of a member's access to a team. docs/webhooks.md, docs/integrations-life-cycle.md. */
import type { OperatorCtx } from '../../context.ts'
import { disableInstallationsOf } from '../../integrations/installations/disable.ts'
import { holdEndpointsOf } from '../../integrations/webhooks/held.ts'
import type { Row } from '../../platform/db/schema.ts'

export type RevocationReason = NonNullable<Row<'configuration'>['disabled_reason']>

/**
 * Disables a user's installations on a team, puts their webhooks and log drains on hold and emails the OWNERs. Call it in the transaction that ends
 * the access. After 30 days the sweeps delete what no OWNER has taken. Idempotent.
 */
export async function revokeTeamAccess(
  ctx: OperatorCtx,
  team: Pick<Row<'account'>, 'id' | 'slug'>,
  userId: string,
  reason: RevocationReason,
): Promise<void> {
  await disableInstallationsOf(ctx, team, userId, reason)
  await holdEndpointsOf(ctx, team, userId, reason)
}
