import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { removeSecondFactors } from '../second-factor/second-factor.ts'
import { endSessionsOf } from '../sign-in/sessions.ts'

/**
 * Removes all second factors of a user, ends every session, because an attacker may hold the lost device, and emails the user. Changes nothing for a
 * user without a factor.
 */
export async function resetSecondFactors(ctx: OperatorCtx, user: Row<'account'>): Promise<void> {
  if (await removeSecondFactors(ctx, user)) await endSessionsOf(ctx, user.id)
}
