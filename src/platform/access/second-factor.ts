/**
 * A team can require a second factor. Members without one have no access to the team, by token or by session. This is the only check.
 * docs/accounts.md: Required two-factor authentication.
 */
import { sql } from 'kysely'
import type { Queries } from '../db/db.ts'
import { refuse } from '../refusals/refusal.ts'

/** Whether a user has a second factor: confirmed one-time codes or a passkey. */
export async function hasSecondFactor(db: Queries, userId: string): Promise<boolean> {
  const totp = db
    .selectFrom('totp')
    .select('user_id')
    .where('user_id', '=', userId)
    .where('confirmed_at', 'is not', null)
  const passkeys = db.selectFrom('passkey').select('user_id').where('user_id', '=', userId)
  return (await totp.unionAll(passkeys).limit(1).execute()).length > 0
}

/** Returns a column for queries over users: 1 if the user has a second factor. */
export function secondFactorColumn(userColumn: string) {
  const user = sql.ref(userColumn)
  return sql<number>`case when (select totp.confirmed_at from totp where totp.user_id = ${user}) is not null then 1
    when (select passkey.id from passkey where passkey.user_id = ${user} limit 1) is not null then 1
    else 0 end`.as('has_factor')
}

/** Returns a column for queries over `account`: 1 if the account requires a factor that the user does not have. Costs nothing where none is required. */
export function missingFactorColumn(userColumn: string) {
  const user = sql.ref(userColumn)
  return sql<number>`case when account.factor_demanded_at is null then 0
    when (select totp.confirmed_at from totp where totp.user_id = ${user}) is not null then 0
    when (select passkey.id from passkey where passkey.user_id = ${user} limit 1) is not null then 0
    else 1 end`.as('lacks_factor')
}

/** Refuses: second_factor_required 403, if the column is 1. */
export function mustHaveSecondFactor({ lacks_factor, slug }: { lacks_factor: number; slug: string | null }): void {
  if (lacks_factor === 0) return
  refuse(
    'second_factor_required',
    `The team ${slug} requires a second factor, and you have none. Set one up in the console, at /console/account/security/factors, and try again.`,
  )
}
