/** Resolves a browser session to a caller, for the console pages that call routes without a token. */
import { sql } from 'kysely'
import { preparedQuery, type Queries } from '../db/db.ts'
import { refuse } from '../refusals/refusal.ts'
import { canActFor, toCaller } from './authenticate.ts'
import { findSessionUser, findSessionUserByHash, isRecentlyAuthenticated } from './session.ts'
import {
  type ById,
  type CallerRow,
  type TokenAndAccount,
  type TokenRow,
  withRole,
  withRoleLocked,
} from './token-query.ts'
import type { Caller } from './who.ts'

const find = preparedQuery<ById, TokenRow>((db, value) => withRole(sessionQuery(db, value)))
const hold = preparedQuery<ById, TokenRow>((db, value) => withRoleLocked(sessionQuery(db, value)))

/**
 * Identifies a user by the hash of a session secret, with all permissions of their role. A write on PostgreSQL locks session and membership until the
 * commit. Refuses: invalid_token 401 (no session, or an expired one), team_forbidden 403, second_factor_required 403.
 */
export async function identifyBySession(
  db: Queries,
  sessionHash: string,
  teamId: string | undefined,
  now: number,
): Promise<Caller> {
  const visitor = await findSessionUserByHash(db, sessionHash, now)
  if (visitor === undefined) refuse('invalid_token', 'You are no longer signed in. Sign in again.')
  const [found] = await (db.isTransaction ? hold : find)(db, { hash: sessionHash, team: teamId ?? null })
  if (found === undefined || found.account_id === null || !canActFor(found, undefined)) refuse('team_forbidden')
  const caller = toCaller(found as CallerRow, undefined)
  return { ...caller, actor: { ...caller.actor, tokenId: null } }
}

/** Checks that the session belongs to an operator with a recent sign-in. Refuses: operator_only 401, sign_in_again 403. */
export async function authenticateOperatorSession(db: Queries, secret: string, now: number): Promise<void> {
  const visitor = await findSessionUser(db, secret, now)
  if (visitor === undefined || !visitor.isOperator) refuse('operator_only')
  if (!isRecentlyAuthenticated(visitor, now)) refuse('sign_in_again')
}

/** A session in place of a token: without a team or project limit. `findSessionUser` decides when it expires. */
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
