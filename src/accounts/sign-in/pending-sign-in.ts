/**
 * A sign-in that waits for its second factor: the password was right, and nothing is open yet. It is bound to a new secret of the visitor, so
 * that nobody finishes it who planted the former one. docs/sign-in-and-consent.md: Second factors.
 */
import type { OperatorCtx } from '../../context.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Queries } from '../../platform/db/db.ts'
import { csrfTokenOf } from '../../platform/pages/cookies.ts'

const WAITS_MS = 10 * 60_000
/** So many wait for one person. A new one takes the place of the oldest. */
const MOST = 20

type DbCtx = Pick<OperatorCtx, 'db' | 'now'>
/** What ties the forms of a page to one browser. */
type Browser = { csrfToken: string }

/** Begins one. Gives the new secret of the visitor. */
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

/** Who gave their password in this browser within ten minutes, and is not signed in yet. */
export async function findPendingSignIn({ db, now, csrfToken }: DbCtx & Browser): Promise<string | undefined> {
  const row = await db
    .selectFrom('half_sign_in')
    .select('user_id')
    .where('hash', '=', hashOf({ csrfToken }))
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.user_id
}

/** Ends it. False: it was finished or taken back meanwhile. Of several at once one is true. */
export async function endPendingSignIn({ db, csrfToken }: Pick<DbCtx, 'db'> & Browser): Promise<boolean> {
  const gone = db.deleteFrom('half_sign_in').where('hash', '=', hashOf({ csrfToken }))
  return (await gone.returning('user_id').executeTakeFirst()) !== undefined
}

/** Ends all that wait for a person. */
export async function endPendingSignInsOf(db: Queries, userId: string): Promise<void> {
  await db.deleteFrom('half_sign_in').where('user_id', '=', userId).execute()
}

function hashOf({ csrfToken }: Browser): string {
  return fingerprint(`half ${csrfToken}`)
}
