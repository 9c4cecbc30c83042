/** From the session of a browser to who acts: for the pages of the console, which ask the routes with it in the place of a token. */
import { sql } from 'kysely'
import { prepared, type Queries } from '../db/db.ts'
import { refuse } from '../refusals/refusal.ts'
import { mayActFor, whoOf } from './authenticate.ts'
import { findVisitor, findVisitorBySession, isFresh } from './session.ts'
import { type Acting, type ById, type TokenAndAccount, type TokenRow, withRole, withRoleHeld } from './token-query.ts'
import type { Who } from './who.ts'

const find = prepared<ById, TokenRow>((db, value) => withRole(sessionQuery(db, value)))
const hold = prepared<ById, TokenRow>((db, value) => withRoleHeld(sessionQuery(db, value)))

/**
 * Identifies a person by the hash of a session's secret, with all that their role in the account allows. Within a write on PostgreSQL
 * session and membership are held until the commit, as those of a token. Refuses: invalid_token 401 (no session, or one that ended),
 * team_forbidden 403, second_factor_required 403.
 */
export async function identifyBySession(
  db: Queries,
  sessionHash: string,
  teamId: string | undefined,
  now: number,
): Promise<Who> {
  const visitor = await findVisitorBySession(db, sessionHash, now)
  if (visitor === undefined) refuse('invalid_token', 'You are no longer signed in. Sign in again.')
  const [found] = await (db.isTransaction ? hold : find)(db, { hash: sessionHash, team: teamId ?? null })
  if (found === undefined || found.account_id === null || !mayActFor(found, undefined)) refuse('team_forbidden')
  const who = whoOf(found as Acting, undefined)
  return { ...who, actor: { ...who.actor, tokenId: null } }
}

/**
 * Lets a person through who is an operator, by a session in which they proved of late that it is them. Refuses: operator_only
 * 401, sign_in_again 403.
 */
export async function authenticateOperatorSession(db: Queries, secret: string, now: number): Promise<void> {
  const visitor = await findVisitor(db, secret, now)
  if (visitor === undefined || !visitor.isOperator) refuse('operator_only')
  if (!isFresh(visitor, now)) refuse('sign_in_again')
}

/** A session in the place of the token: it is bound to no team and narrowed in nothing, and `findVisitor` says when it ends. */
function sessionQuery(db: Queries, { hash, team }: ById) {
  const query = db
    .selectFrom('session as token')
    .select([
      sql<string>`''`.as('token_id'),
      'token.user_id',
      sql<string | null>`null`.as('team_id'),
      sql<string | null>`null`.as('scopes_json'),
      sql<string | null>`null`.as('project_ids_json'),
      sql<number | null>`null`.as('expires_at'),
      sql<string | null>`null`.as('configuration_id'),
    ])
    .where('token.hash', '=', hash)
    .leftJoin('account', (join) => join.on('account.id', '=', sql<string>`coalesce(${team}, token.user_id)`))
  return query as unknown as TokenAndAccount
}
