/** What people set up on a team ends with their access to it. docs/webhooks.md, docs/integrations-life-cycle.md. */
import type { OperatorCtx } from '../../context.ts'
import { disableInstallationsOf } from '../../integrations/installations/disable.ts'
import { holdEndpointsOf } from '../../integrations/webhooks/held.ts'
import type { Row } from '../../platform/db/schema.ts'

export type RevocationReason = NonNullable<Row<'configuration'>['disabled_reason']>

/**
 * Say it in the transaction that ends what a user may on a team: taken out, left, given a role below MEMBER, suspended. What they had
 * installed is disabled, their webhooks and log drains are held, and the owners that the team has now are told by mail. An OWNER
 * takes over what should go on; after 30 days the rest goes. Called twice, it changes nothing more.
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
