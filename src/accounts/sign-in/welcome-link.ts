/** The setup link for the first user. docs/sign-in-and-consent.md: First password. */
import type { OperatorCtx } from '../../context.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findPasswordLink } from './password-link.ts'

const BEGINNING = '/welcome?link='
/** Stored in `credentials.json` with tokens that do not expire either, so only its use ends it: operators may open it days after the start. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Returns path and query of a new link. */
export function newWelcomeLink(): string {
  return `${BEGINNING}${randomText(43)}`
}

/** Returns the row of the link. It is a single-use password link, which a later one replaces. */
export function welcomeLinkRow(userId: string, welcome: string): Row<'password_link'> {
  const secret = welcome.slice(BEGINNING.length)
  return { hash: fingerprint(secret), user_id: userId, expires_at: NEVER, used_at: null, created_by: null }
}

/**
 * Finds the user of the setup link. A password link from the operator does not sign in, so it is not accepted. Refuses: password_link_spent 404
 * (unknown, used, replaced, another kind of link).
 */
export async function findWelcomeLink(ctx: Pick<OperatorCtx, 'db' | 'now'>, secret: string): Promise<Row<'account'>> {
  const link = await ctx.db
    .selectFrom('password_link')
    .select('hash')
    .where('hash', '=', fingerprint(secret))
    .where('expires_at', '=', NEVER)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  if (link === undefined) refuse('password_link_spent', SPENT)
  return findPasswordLink(ctx, secret)
}

const SPENT =
  'This link is incomplete, used or replaced. Sign in with your password. The operator can create a new link: berth user password-link admin'
