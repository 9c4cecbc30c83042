import type { SessionRules } from '../../config.ts'
import { fingerprint } from '../base/ids.ts'
import { preparedQuery, type Queries } from '../db/db.ts'

export type SessionUser = {
  userId: string
  username: string
  name: string | null
  isOperator: boolean
  sessionHash: string
  usedAt: number
  createdAt: number
  /** Time of the last authentication in this session. */
  confirmedAt: number
}

const HOUR_MS = 3_600_000
/** The last use is written at most this often, so that reading a page is not a write. */
export const SESSION_TOUCH_MS = 5 * 60_000

/** How long an authentication is recent enough for pages that show secrets or run the service. */
const FRESH_MS = HOUR_MS

const select = preparedQuery<{ hash: string }, SessionRow>((db, value) =>
  db
    .selectFrom('session')
    .innerJoin('account', 'account.id', 'session.user_id')
    .select(['account.id as user_id', 'account.slug', 'account.name', 'account.operator_at'])
    .select(['session.used_at', 'session.expires_at', 'session.created_at', 'session.confirmed_at'])
    .where('session.hash', '=', value.hash)
    // A suspended user has no access, whatever started the session.
    .where('account.suspended_at', 'is', null),
)

/** Returns the user of a session secret; undefined if it is unknown or expired. */
export async function findSessionUser(
  db: Queries,
  secret: string | undefined,
  now: number,
): Promise<SessionUser | undefined> {
  return secret === undefined ? undefined : findSessionUserByHash(db, fingerprint(secret), now)
}

/** As `findSessionUser`, by the hash of the secret. */
export async function findSessionUserByHash(
  db: Queries,
  sessionHash: string,
  now: number,
): Promise<SessionUser | undefined> {
  const [found] = await select(db, { hash: sessionHash })
  if (found === undefined || found.expires_at <= now) return undefined
  return {
    userId: found.user_id,
    username: found.slug,
    name: found.name,
    isOperator: found.operator_at !== null,
    sessionHash,
    usedAt: found.used_at,
    createdAt: found.created_at,
    confirmedAt: found.confirmed_at ?? found.created_at,
  }
}

/** Whether the user authenticated within the last hour. */
export function isRecentlyAuthenticated({ confirmedAt }: Pick<SessionUser, 'confirmedAt'>, now: number): boolean {
  return confirmedAt + FRESH_MS > now
}

/** Returns when a session in use expires: a fixed time after its start, and for operators also after the last use. */
export function endOfSession(
  { lastMs, operatorIdleMs }: SessionRules,
  { createdAt, isOperator }: Pick<SessionUser, 'createdAt' | 'isOperator'>,
  now: number,
): number {
  const last = createdAt + lastMs
  return isOperator ? Math.min(last, now + operatorIdleMs) : last
}

/** Stores the last use of a session. The user may have become an operator since `visitor` was read, which ends it earlier. */
export async function touchSession(db: Queries, visitor: SessionUser, now: number, rules: SessionRules): Promise<void> {
  const user = db.selectFrom('account').select('operator_at').where('id', '=', visitor.userId)
  const isOperator = (await user.executeTakeFirst())?.operator_at != null
  await db
    .updateTable('session')
    .set({ used_at: now, expires_at: endOfSession(rules, { ...visitor, isOperator }, now) })
    .where('hash', '=', visitor.sessionHash)
    .where('used_at', '<', now)
    .execute()
}

type SessionRow = {
  user_id: string
  slug: string
  name: string | null
  operator_at: number | null
  used_at: number
  expires_at: number
  created_at: number
  confirmed_at: number | null
}
