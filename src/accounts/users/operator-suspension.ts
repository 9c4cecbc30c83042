/** What a suspension by the operator means for a user of single sign-on. docs/single-sign-on.md: Deprovisioning. */
import type { OperatorCtx } from '../../context.ts'

/** Marks a suspension as the operator's, also where the provider's came first: signing in with the provider no longer ends it. */
export async function markOperatorSuspension({ db }: Pick<OperatorCtx, 'db'>, userId: string): Promise<void> {
  await db.updateTable('identity').set({ ended_at: null }).where('user_id', '=', userId).execute()
}
