/**
 * Pending sign-ins: the password was right and the second factor is missing. Each gets a new browser secret, so an attacker who planted the previous
 * one cannot finish it. docs/sign-in-and-consent.md: Second factors.
 */
import type { OperatorCtx } from '../../context.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Queries } from '../../platform/db/db.ts'
import { csrfTokenOf } from '../../platform/pages/cookies.ts'

const WAITS_MS = 10 * 60_000
/** Per user; a new one replaces the oldest. */
const MOST = 20

type DbCtx = Pick<OperatorCtx, 'db' | 'now'>
/** Binds the forms of a page to one browser. */
type Browser = { csrfToken: string }

/** Begins a pending sign-in and returns the browser's new secret. */
export async function beginPendingSignIn({ db, now }: DbCtx, userId: string): Promise<string> {
  const visit = randomText(43)
  const mine = db.selectFrom('half_sign_in').select('hash').where('user_id', '=', userId)
  const oldest = mine
    .orderBy('expires_at', 'desc')
    .limit(MOST)
    .offset(MOST - 1)
  await db.deleteFrom('half_sign_in').where('hash', 'in', oldest).execute()
  const row = { hash: hashOf({ csrfToken: csrfTokenOf(visit) }), user_id: userId, expires_at: now + WAITS_MS }
  await db.insertInto('half_sign_in').values(row).execute()
  return visit
}

/** Returns the user with a pending sign-in in this browser, within ten minutes of the password. */
export async function findPendingSignIn({ db, now, csrfToken }: DbCtx & Browser): Promise<string | undefined> {
  const row = await db
    .selectFrom('half_sign_in')
    .select('user_id')
    .where('hash', '=', hashOf({ csrfToken }))
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.user_id
}

/** Ends a pending sign-in. False when it was already finished or ended. Of concurrent calls, one succeeds. */
export async function endPendingSignIn({ db, csrfToken }: Pick<DbCtx, 'db'> & Browser): Promise<boolean> {
  const deleted = db.deleteFrom('half_sign_in').where('hash', '=', hashOf({ csrfToken }))
  return (await deleted.returning('user_id').executeTakeFirst()) !== undefined
}

/** Ends all pending sign-ins of a user. */
export async function endPendingSignInsOf(db: Queries, userId: string): Promise<void> {
  await db.deleteFrom('half_sign_in').where('user_id', '=', userId).execute()
}

function hashOf({ csrfToken }: Browser): string {
  return fingerprint(`half ${csrfToken}`)
}
