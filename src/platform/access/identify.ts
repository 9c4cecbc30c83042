/** Reads the caller of a request from the database, or from the cache while nothing relevant changed. docs/architecture.md: Caching. */
import type { Caller, Deps } from '../../context.ts'
import { fingerprint } from '../base/ids.ts'
import type { Topic } from '../db/change-feed.ts'
import type { Queries } from '../db/db.ts'
import { refuse } from '../refusals/refusal.ts'
import { type Credentials, identifyByToken, parseBearer } from './authenticate.ts'
import { identifyBySession } from './session-authentication.ts'

/** Estimated bytes of a cached caller, and of each project of a project-limited token. */
const BYTES = 1000
const PROJECT_BYTES = 40

/** As `identify`, from the cache where possible. Not for writes within their transaction, which must notice revoked access. Refuses as `identify` does. */
export async function identifyCached(
  { db, cache }: Pick<Deps, 'db' | 'cache'>,
  credentials: Credentials,
  now: number,
  idOrName?: string,
): Promise<Caller> {
  const { authorization, teamId, slug } = credentials
  const token = parseBearer(authorization)
  const several = teamId !== undefined && slug !== undefined
  if (cache === undefined || token === undefined || several) return identify(db.read, credentials, now, idOrName)
  const account = slug === undefined ? `t${teamId ?? ''}` : `s${slug}`
  const key = `who ${fingerprint(token)} ${account}`
  const cached = cache.get(key) as Caller | undefined
  if (cached !== undefined) {
    // Expiry by the clock has no commit that would invalidate the entry.
    if (cached.tokenExpiresAt !== null && cached.tokenExpiresAt <= now)
      refuse('invalid_token', undefined, { invalidToken: true })
    return cached
  }
  const since = cache.version()
  const caller = await identifyByToken(db.read, credentials, now)
  const bytes = BYTES + PROJECT_BYTES * (caller.projectIds?.length ?? 0)
  if (cache.set(key, since, { value: caller, bytes, owner: caller.account.id, topics: callerTopics(caller) }))
    kept.add(caller)
  return caller
}

/**
 * Reads the caller by a token or a session. `idOrName`: the project to prefetch (PostgreSQL, GET). Refuses as `identifyByToken` and
 * `identifyBySession` do. Specification: Authentication.
 */
export function identify(db: Queries, credentials: Credentials, now: number, idOrName?: string): Promise<Caller> {
  const { session } = credentials
  if (session === undefined) return identifyByToken(db, credentials, now, idOrName)
  return identifyBySession(db, fingerprint(session), credentials.teamId, now)
}

/** Whether a caller is in the cache. Only then later requests can share the object. */
export function isCachedCaller(caller: Caller): boolean {
  return kept.has(caller)
}
const kept = new WeakSet<Caller>()

/** Topics of a cached caller: the account with its members and installations, and the user with their tokens. */
export function callerTopics({ account, userId }: Caller): Topic[] {
  return userId === account.id ? [`account ${userId}`] : [`account ${account.id}`, `account ${userId}`]
}
