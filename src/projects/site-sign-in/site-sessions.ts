/**
 * Sessions of members in protected sites. A row is first a single-use code, issued by the console for one host and browser, and
 * then the cookie of that host. It identifies the user; each request checks project access again. docs/edge.md: Sign-in of members.
 */
import type { Deps, OperatorCtx, ProjectHooks } from '../../context.ts'
import { identifyBySession } from '../../platform/access/session-authentication.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { challengeOf, isSecret, type Redeemed, SECRET_LENGTH } from '../../platform/verdict/site-sign-in.ts'

/** From the click to the site: one redirect. */
const CODE_MS = 60_000
const SESSION_MS = 12 * 60 * 60_000
/** Concurrent site sessions per user. A new one ends the oldest. */
const MOST = 200

type SiteSession = Row<'site_session'>
/** `challenge`: of the state in the browser. `sessionHash`: of the console. */
type Wanted = { host: string; project: Row<'project'>; challenge: string; userId: string; sessionHash: string }

/** Issues a code for one browser and host, and returns it; only its hash is stored. The caller has checked that the user can see the project. */
export async function issueSiteCode({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, request: Wanted): Promise<string> {
  const { host, project, challenge, userId, sessionHash } = request
  const code = randomText(SECRET_LENGTH)
  const mine = db.selectFrom('site_session').select('hash').where('user_id', '=', userId)
  const oldest = mine
    .orderBy('expires_at', 'desc')
    .limit(MOST)
    .offset(MOST - 1)
  await db.deleteFrom('site_session').where('hash', 'in', oldest).execute()
  const of = { project_id: project.id, account_id: project.account_id, user_id: userId, session_hash: sessionHash }
  const row = { hash: fingerprint(code), challenge, host, ...of, expires_at: now + CODE_MS }
  await db.insertInto('site_session').values(row).execute()
  return code
}

/**
 * Redeems a code for a cookie secret, at most once, also under concurrent calls: finding the row replaces it. Undefined: unknown
 * code, another host or browser, older than 60 seconds, or the user can no longer see the project.
 */
export async function redeemSiteCode(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { code, state, host }: { code: string; state: string; host: string },
): Promise<Redeemed | undefined> {
  // Anyone may send an invalid code, which must not cause a write.
  const existing = db.read.selectFrom('site_session').select('hash').where('hash', '=', fingerprint(code))
  if ((await existing.executeTakeFirst()) === undefined) return undefined
  return db.write(async (tx) => {
    const now = clock.now()
    const secret = randomText(SECRET_LENGTH)
    const row = await tx
      .updateTable('site_session')
      .set({ hash: fingerprint(secret), challenge: null, expires_at: now + SESSION_MS })
      .where('hash', '=', fingerprint(code))
      .where('challenge', '=', challengeOf(state))
      .where('host', '=', host)
      .where('expires_at', '>', now)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) return undefined
    if (await canVisitProject(tx, row, now)) return { secret, seconds: SESSION_MS / 1000 }
    await tx.deleteFrom('site_session').where('hash', '=', row.hash).execute()
    return undefined
  })
}

/** Returns whether the secret belongs to a member's session for this host and project, and the member can still see the project. */
export async function isMemberAt(
  db: Queries,
  { secret, host, projectId }: { secret: string; host: string; projectId: string },
  now: number,
): Promise<boolean> {
  if (!isSecret(secret)) return false
  const row = await db
    .selectFrom('site_session')
    .selectAll()
    .where('hash', '=', fingerprint(secret))
    .where('challenge', 'is', null)
    .where('host', '=', host)
    .where('project_id', '=', projectId)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row !== undefined && (await canVisitProject(db, row, now))
}

/** Checks the console session of the user: the session, the role and team policies must still allow access. */
async function canVisitProject(db: Queries, row: SiteSession, now: number): Promise<boolean> {
  const { project_id, account_id, session_hash } = row
  const project = await db.selectFrom('project').select('account_id').where('id', '=', project_id).executeTakeFirst()
  if (project?.account_id !== account_id) return false
  try {
    const caller = await identifyBySession(db, session_hash, account_id, now)
    return caller.account.id === account_id && caller.permissions.has('project:read')
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

async function endAll({ db }: Pick<OperatorCtx, 'db'>, { id }: { id: string }): Promise<void> {
  await db.deleteFrom('site_session').where('project_id', '=', id).execute()
}

/** Deleting or moving a project ends all its site sessions. */
export const siteSessionsOnProject: ProjectHooks = { remove: endAll, move: endAll }
