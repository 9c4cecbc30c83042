import type { OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { endSessionsOf } from '../sign-in/sessions.ts'

/** Signs a user out of all browsers. Tokens keep working. */
export async function signOutEverywhere(ctx: OperatorCtx, user: Row<'account'>): Promise<void> {
  await endSessionsOf(ctx, user.id)
}
