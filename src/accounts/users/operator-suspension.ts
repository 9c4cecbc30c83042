/** What a suspension by the operator means for a user of single sign-on. docs/single-sign-on.md: Deprovisioning. */
import type { OperatorCtx } from '../../context.ts'

/** After this long without a confirmation a user is suspended, even if the provider was unavailable. */
export const MAX_UNCONFIRMED_MS = 12 * 3_600_000

/** Marks a suspension as the operator's, also where the provider's came first: signing in with the provider no longer ends it. */
export async function markOperatorSuspension({ db }: Pick<OperatorCtx, 'db'>, userId: string): Promise<void> {
  await db.updateTable('identity').set({ ended_at: null }).where('user_id', '=', userId).execute()
}

/** Restarts the checks of a user whom the provider's check suspended and the operator resumed. Without a sign-in they end the access again. */
export async function restartChecks({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, userId: string): Promise<void> {
  await db
    .updateTable('identity')
    .set({ checked_at: now, due_at: now + MAX_UNCONFIRMED_MS, ended_at: null })
    .where('user_id', '=', userId)
    .where('due_at', 'is', null)
    .execute()
}
