/** What the operator does for somebody who lost their second factors. docs/sign-in-and-consent.md: Second factors. */
import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { removeSecondFactors } from '../second-factor/second-factor.ts'
import { endSessionsOf } from '../sign-in/sessions.ts'

/**
 * Removes all second factors of a person, and ends every session: whoever has the lost device or a session of it is out too. The person is
 * told by mail. Of somebody without a factor nothing changes.
 */
export async function resetSecondFactors(ctx: OperatorCtx, user: Row<'account'>): Promise<void> {
  if (await removeSecondFactors(ctx, user)) await endSessionsOf(ctx, user.id)
}
