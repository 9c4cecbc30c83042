/** The link of the first start: by it the first person sets their first password. docs/sign-in-and-consent.md: The first password. */
import type { OperatorCtx } from '../../context.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findPasswordLink } from './password-link.ts'

const BEGINNING = '/welcome?link='
/** It lies in `credentials.json` beside tokens that do not end either, so it ends by its use alone: somebody may look days after the start. */
const NEVER = Number.MAX_SAFE_INTEGER

/** Path and query of a new link. */
export function newWelcomeLink(): string {
  return `${BEGINNING}${randomText(43)}`
}

/** The row that makes the link work. It is a password link, so it works once, and a later password link takes its place. */
export function welcomeLinkRow(userId: string, welcome: string): Row<'password_link'> {
  const secret = welcome.slice(BEGINNING.length)
  return { hash: fingerprint(secret), user_id: userId, expires_at: NEVER, used_at: null, created_by: null }
}

/**
 * Whose first password the link sets. A password link that the operator made does not sign in, so it does not work here. Refuses:
 * password_link_spent 404 (unknown, used, replaced, another kind of link).
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
  'This link is not whole, or was used or replaced. Sign in with your password. Whoever runs the service gets a new link by: berth user password-link admin'
