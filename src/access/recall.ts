/** Who acts, without asking the store again while nothing of it has changed. docs/architecture.md: What is remembered. */
import type { Deps, Who } from '../context.ts'
import type { Subject } from '../db/changes.ts'
import type { Queries } from '../db/db.ts'
import { fingerprint } from '../ids.ts'
import { refuse } from '../refusal.ts'
import { authenticate, bearerOf, type Credentials } from './authenticate.ts'
import { authenticateSession } from './by-session.ts'

/** Bytes that a person or an installation takes, and each project that it is limited to. */
const BYTES = 1000
const PROJECT_BYTES = 40

/** As `authenticate` on the read connection, with the project that is read ahead. Not for a write within its transaction: that reads who acts anew. Refuses as `authenticate` does. */
export async function recall(
  { db, memory }: Pick<Deps, 'db' | 'memory'>,
  credentials: Credentials,
  now: number,
  idOrName?: string,
): Promise<Who> {
  const { authorization, teamId, slug } = credentials
  const token = bearerOf(authorization)
  const several = teamId !== undefined && slug !== undefined
  if (memory === undefined || token === undefined || several) return readActing(db.read, credentials, now, idOrName)
  const account = slug === undefined ? `t${teamId ?? ''}` : `s${slug}`
  const key = `who ${fingerprint(token)} ${account}`
  const known = memory.find(key) as Who | undefined
  if (known !== undefined) {
    // No commit says that a token has ended by the clock.
    if (known.tokenEndsAt !== null && known.tokenEndsAt <= now)
      refuse('invalid_token', undefined, { invalidToken: true })
    return known
  }
  const since = memory.stamp()
  const who = await authenticate(db.read, credentials, now)
  const bytes = BYTES + PROJECT_BYTES * (who.projectIds?.length ?? 0)
  if (memory.keep(key, since, { value: who, bytes, owner: who.account.id, subjects: subjectsOf(who) })) kept.add(who)
  return who
}

/** Who acts, by a token or by a session, read anew. */
export function readActing(db: Queries, credentials: Credentials, now: number, idOrName?: string): Promise<Who> {
  const { session } = credentials
  if (session === undefined) return authenticate(db, credentials, now, idOrName)
  return authenticateSession(db, session, credentials, now)
}

/** Whether it is remembered who acts. Only then another request may come by the same object. */
export function isRecalled(who: Who): boolean {
  return kept.has(who)
}
const kept = new WeakSet<Who>()

/** What says who acts: the account, with its members and installations, and the person with their tokens. */
export function subjectsOf({ account, userId }: Who): Subject[] {
  return userId === account.id ? [`account ${userId}`] : [`account ${account.id}`, `account ${userId}`]
}
