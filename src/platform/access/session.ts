/** From the secret of a session cookie to the person behind it. */
import type { SessionRules } from '../../config.ts'
import { fingerprint } from '../base/ids.ts'
import { preparedQuery, type Queries } from '../db/db.ts'

/** A person who is signed in. */
export type SessionUser = {
  userId: string
  username: string
  name: string | null
  isOperator: boolean
  sessionHash: string
  usedAt: number
  createdAt: number
  /** When they last proved in this session that it is them. */
  confirmedAt: number
}

const HOUR_MS = 3_600_000
/** What is used is written down at most this often, so that reading a page is not a write. */
export const SESSION_TOUCH_MS = 5 * 60_000

/** How long a proof is enough for what shows secrets or runs the service. */
const FRESH_MS = HOUR_MS

const select = preparedQuery<{ hash: string }, SessionRow>((db, value) =>
  db
    .selectFrom('session')
    .innerJoin('account', 'account.id', 'session.user_id')
    .select(['account.id as user_id', 'account.slug', 'account.name', 'account.operator_at'])
    .select(['session.used_at', 'session.expires_at', 'session.created_at', 'session.confirmed_at'])
    .where('session.hash', '=', value.hash)
    // Whoever is suspended is let in by nothing, however a session of theirs began.
    .where('account.suspended_at', 'is', null),
)

/** Who is signed in by this secret; undefined when nobody is, or no longer. */
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

/** Whether the person proved within the last hour that it is them. */
export function isRecentlyAuthenticated({ confirmedAt }: Pick<SessionUser, 'confirmedAt'>, now: number): boolean {
  return confirmedAt + FRESH_MS > now
}

/** When a session ends that is used now: so long after it began, and for an operator so long after its last use. */
export function endOfSession(
  { lastMs, operatorIdleMs }: SessionRules,
  { createdAt, isOperator }: Pick<SessionUser, 'createdAt' | 'isOperator'>,
  now: number,
): number {
  const last = createdAt + lastMs
  return isOperator ? Math.min(last, now + operatorIdleMs) : last
}

/** Writes down that a session is in use. */
export async function touchSession(db: Queries, visitor: SessionUser, now: number, rules: SessionRules): Promise<void> {
  await db
    .updateTable('session')
    .set({ used_at: now, expires_at: endOfSession(rules, visitor, now) })
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
