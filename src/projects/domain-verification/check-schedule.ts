/** When Berth looks up an unverified domain without a request: less and less often for 72 hours. docs/domains.md: Automatic checks. */
import type { OperatorCtx } from '../../context.ts'
import { newChallengeToken } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const CHECKED_FOR_MS = 72 * HOUR_MS
/** Minutes after the start, then hourly: waits of 1, 2, 5, 10 and 30 minutes. */
const FIRST_CHECKS = [1, 3, 8, 18, 48]

type Schedule = Pick<Row<'project_domain'>, 'check_due' | 'checked_until'>

/** Of a verified domain. */
export const NO_CHECKS: Schedule = { check_due: null, checked_until: null }

/** Returns the columns of a new challenge. Its checks start. */
export function newChallenge(now: number): Schedule & { challenge_token: string } {
  return { challenge_token: newChallengeToken(), ...newChecks(now) }
}

function newChecks(now: number) {
  return { check_due: now + MINUTE_MS, checked_until: now + CHECKED_FOR_MS }
}

/** Returns the time of the next check, or null after the last one. */
export function nextCheck({ checked_until }: Schedule, now: number): number | null {
  const until = checked_until ?? 0
  const first = FIRST_CHECKS.map((minutes) => until - CHECKED_FOR_MS + minutes * MINUTE_MS)
  const next = first.find((at) => at > now) ?? now + HOUR_MS
  return next > until ? null : next
}

/** Gives an account its turn at the next check of a challenge that was just made. */
export async function queueChecks({ db }: Pick<OperatorCtx, 'db'>, accountId: string, now: number): Promise<void> {
  const due = newChecks(now).check_due
  await db
    .insertInto('domain_turn')
    .values({ account_id: accountId, due_at: due })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({ due_at: due }).where('domain_turn.due_at', '>', due),
    )
    .execute()
}

/** Starts the checks of a domain again after a user asked for one. Once an hour is enough, so that asking often writes nothing. */
export async function restartChecks(
  { deps, now }: Pick<OperatorCtx, 'deps' | 'now'>,
  domain: Row<'project_domain'>,
): Promise<void> {
  const checks = newChecks(now)
  if ((domain.checked_until ?? 0) > checks.checked_until - HOUR_MS) return
  await deps.db.write(async (db) => {
    await db
      .updateTable('project_domain')
      .set(checks)
      .where('account_id', '=', domain.account_id)
      .where('name', '=', domain.name)
      .where('verified_at', 'is', null)
      .execute()
    await queueChecks({ db }, domain.account_id, now)
  }, domain.account_id)
}
