/**
 * Members of an account in its protected sites. A row is a one-time code first, made by the console for one host and one browser, and then the
 * cookie of that host. It says who came in and nothing more: whether they may still see the project is asked at each request. docs/edge.md: Members sign in.
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
/** Sites in which a person is at once. The oldest ends for a newer one. */
const MOST = 200

type SiteSession = Row<'site_session'>
/** `challenge`: of the state that the browser holds. `sessionHash`: of the console. */
type Wanted = { host: string; project: Row<'project'>; challenge: string; userId: string; sessionHash: string }

/** Makes a code by which one browser comes into one host. The answer is the code, which is kept nowhere. Whoever calls it has looked whether the person may see the project. */
export async function issueSiteCode({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, wanted: Wanted): Promise<string> {
  const { host, project, challenge, userId, sessionHash } = wanted
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
 * Redeems a code for the secret of a cookie, at most once, also under simultaneous calls: the statement that finds the row makes it another one.
 * Undefined: no such code, another host or browser, older than 60 seconds, or the person may not see the project any more.
 */
export async function redeemSiteCode(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { code, state, host }: { code: string; state: string; host: string },
): Promise<Redeemed | undefined> {
  // Anybody may bring a code that is none, and nobody waits for a write because of it.
  const known = db.read.selectFrom('site_session').select('hash').where('hash', '=', fingerprint(code))
  if ((await known.executeTakeFirst()) === undefined) return undefined
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
    if (await maySeeProject(tx, row, now)) return { secret, seconds: SESSION_MS / 1000 }
    await tx.deleteFrom('site_session').where('hash', '=', row.hash).execute()
    return undefined
  })
}

/** Whether this is the secret of a member who came into this host of this project, and may still see it. */
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
  return row !== undefined && (await maySeeProject(db, row, now))
}

/** By the session of the console from which they came, as a page of the console would ask: it, the role and what the team demands count now. */
async function maySeeProject(db: Queries, row: SiteSession, now: number): Promise<boolean> {
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

/** Nobody stays in the sites of a project that is removed, or that belongs to another account from now on. */
export const siteSessionsOnProject: ProjectHooks = { remove: endAll, move: endAll }
