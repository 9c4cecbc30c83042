/**
 * A team may demand a second factor of its members. Whoever has none is let into nothing of the team, by token or by session. This is the
 * one place that says so. docs/accounts.md: A second factor of every member.
 */
import { sql } from 'kysely'
import type { Queries } from '../db/db.ts'
import { refuse } from '../refusals/refusal.ts'

/** Whether a person has a second factor: one-time codes that are confirmed, or a passkey. */
export async function hasSecondFactor(db: Queries, userId: string): Promise<boolean> {
  const totp = db
    .selectFrom('totp')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
  const passkeys = db.selectFrom('passkey').select('user_id').where('user_id', '=', userId)
  return (await totp.unionAll(passkeys).limit(1).execute()).length > 0
}

/**
 * A column of a query over `account`: 1 where the account demands a factor that the person has not. Where it demands none, nothing is
 * looked up, so it costs no time.
 */
export function missingFactorColumn(userColumn: string) {
  const user = sql.ref(userColumn)
  return sql<number>`case when account.factor_demanded_at is null then 0
    when (select totp.confirmed_at from totp where totp.user_id = ${user}) is not null then 0
    when (select passkey.id from passkey where passkey.user_id = ${user} limit 1) is not null then 0
    else 1 end`.as('lacks_factor')
}

/** Refuses: second_factor_required 403, where the column says that the person lacks the factor. */
export function mustHaveSecondFactor({ lacks_factor, slug }: { lacks_factor: number; slug: string | null }): void {
  if (lacks_factor === 0) return
  refuse(
    'second_factor_required',
    `The team ${slug} asks its members for a second factor, and you have none. Set one up in the console, at /console/account/security/factors, and try again.`,
  )
}
