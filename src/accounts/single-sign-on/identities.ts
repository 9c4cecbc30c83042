/** Identities of users at the provider, bound by issuer and `sub`, which is never reused. docs/single-sign-on.md. */

import type { Input, OperatorCtx } from '../../context.ts'
import { canStillGive } from '../../platform/access/offers.ts'
import type { IdentityClaims } from '../../platform/adapters/identity-provider.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { greeting } from '../../platform/mail/text.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import { createUser } from '../users/accounts.ts'
import { setSuspended } from '../users/suspend.ts'
import { applyGroups } from './groups.ts'

const HOUR_MS = 3_600_000
/** Interval of the checks. */
const CHECK_MS = 4 * HOUR_MS
const LINK_MS = 24 * HOUR_MS
const MAX_NAME = 48
const MAX_DISPLAY_NAME = 100

export type Identity = Row<'identity'>

/**
 * Finds the identity of these claims by `iss` and `sub`. An identity under another spelling of BERTH_OIDC_ISSUER counts only when none has the `iss`
 * of the token.
 */
export async function findIdentity(
  { db }: Pick<OperatorCtx, 'db'>,
  { issuer, alsoNamed, sub }: Pick<IdentityClaims, 'issuer' | 'alsoNamed' | 'sub'>,
): Promise<Identity | undefined> {
  const names = [...new Set([issuer, ...alsoNamed])]
  const ties = await db.selectFrom('identity').selectAll().where('issuer', 'in', names).where('sub', '=', sub).execute()
  return ties.sort((a, b) => names.indexOf(a.issuer) - names.indexOf(b.issuer))[0]
}

/** Finds a user by address, ignoring case. */
export function findByEmail({ db }: Pick<OperatorCtx, 'db'>, email: string): Promise<Row<'account'> | undefined> {
  return db
    .selectFrom('account')
    .selectAll()
    .where('kind', '=', 'user')
    .where('email', '=', email.toLowerCase())
    .executeTakeFirst()
}

/** Creates a user from the claims of their first sign-in. Returns the user's id. Refuses: slug_taken 409, email_taken 409. */
export async function createPerson(ctx: OperatorCtx, vouched: IdentityClaims & { email: string }): Promise<string> {
  const base = usernameOf(vouched)
  const name = [...(vouched.name ?? '')].slice(0, MAX_DISPLAY_NAME).join('')
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : `-${number}`
    const body = {
      email: vouched.email,
      username: `${base.slice(0, MAX_NAME - end.length)}${end}`,
      ...(name && { name }),
    }
    try {
      return (await createUser(ctx, undefined, { body, params: {}, query: {} } as Parameters<typeof createUser>[2])).id
    } catch (error) {
      if (!(error instanceof Refusal) || error.key !== 'slug_taken' || number === 100) throw error
    }
  }
}

/** The provider's user name, or the address before "@", limited to the characters of a username. */
function usernameOf({ username, email }: IdentityClaims): string {
  const desired = (username ?? email ?? '').split('@', 1)[0]!.normalize('NFKD').toLowerCase()
  const slug = desired
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replace(/^(?:(?:usr|team|prj)_|[^a-z0-9]+)+/, '')
    .replace(/(?<!-)-+$/, '')
  return slug === '' ? 'person' : slug
}

/** Binds a user to an identity. Refuses: identity_taken 409 (one of the two is bound already). */
export async function linkIdentity(
  ctx: OperatorCtx,
  userId: string,
  { issuer, sub }: Pick<IdentityClaims, 'issuer' | 'sub'>,
): Promise<void> {
  const row = { issuer, sub, user_id: userId, refresh_token: null, checked_at: ctx.now, ended_at: null }
  const bound = await ctx.db
    .insertInto('identity')
    .values({ ...row, due_at: ctx.now + CHECK_MS })
    .onConflict((conflict) => conflict.doNothing())
    .returning('user_id')
    .executeTakeFirst()
  if (bound === undefined) refuse('identity_taken')
}

/**
 * Records a confirmation by the provider: resumes a user suspended for its absence, applies groups and postpones the next check. A suspension by the
 * operator stays.
 */
export async function confirmIdentity(ctx: OperatorCtx, userId: string, vouched: IdentityClaims): Promise<void> {
  const identity = await identityRow(ctx, userId)
  const user = await ctx.db.selectFrom('account').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
  if (identity?.ended_at != null && user.suspended_at === identity.ended_at) await setSuspended(ctx, user, false)
  await ctx.db
    .updateTable('identity')
    .set({
      ...(await sealRefreshToken(ctx, userId, vouched)),
      checked_at: ctx.now,
      due_at: ctx.now + CHECK_MS,
      ended_at: null,
      ...((await findIdentity(ctx, vouched))?.user_id === userId && { issuer: vouched.issuer }),
    })
    .where('user_id', '=', userId)
    .execute()
  if (vouched.groups !== undefined) await applyGroups(ctx, userId, vouched.groups)
}

/** A provider may send no new refresh token, as at a reauthentication (OpenID Connect Core 1.0, 11). The stored one stays valid then. */
async function sealRefreshToken(
  ctx: OperatorCtx,
  userId: string,
  { sub, refreshToken }: IdentityClaims,
): Promise<Partial<Pick<Identity, 'refresh_token'>>> {
  if (refreshToken === undefined) return {}
  const box = await openSecretBoxToWrite(ctx, userId)
  return { refresh_token: box.sealSecret('refresh-token', sub, refreshToken) }
}

/** Returns the identity of a user, if any. */
export function identityRow({ db }: Pick<OperatorCtx, 'db'>, userId: string): Promise<Identity | undefined> {
  return db.selectFrom('identity').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Suspends a user whom the provider no longer confirms: ends sessions and suspends tokens until the next sign-in with it. */
export async function suspendIdentity(ctx: OperatorCtx, { issuer, sub, user_id }: Identity): Promise<void> {
  const user = await ctx.db.selectFrom('account').selectAll().where('id', '=', user_id).executeTakeFirstOrThrow()
  await ctx.db
    .updateTable('identity')
    .set({ refresh_token: null, due_at: null, ended_at: ctx.now })
    .where('issuer', '=', issuer)
    .where('sub', '=', sub)
    .execute()
  await setSuspended(ctx, user, true)
}

/** Deletes the identity of a user and ends its checks. Resumes a user who was suspended because of it. Refuses: not_found 404. */
export async function removeIdentity(ctx: OperatorCtx, user: Row<'account'>, _: Input): Promise<void> {
  const removed = await ctx.db
    .deleteFrom('identity')
    .where('user_id', '=', user.id)
    .returning('ended_at')
    .executeTakeFirst()
  if (removed === undefined) refuse('not_found', `${user.slug} signs in by no provider.`)
  if (removed.ended_at !== null && removed.ended_at === user.suspended_at) await setSuspended(ctx, user, false)
}

/** Emails a link to an existing user with the address of the claims, to confirm that the identity is theirs. */
export async function mailIdentityLink(
  ctx: OperatorCtx,
  user: Row<'account'>,
  { issuer, sub }: IdentityClaims,
): Promise<void> {
  const secret = randomText(43)
  await ctx.db.deleteFrom('identity_link').where('user_id', '=', user.id).execute()
  await ctx.db
    .insertInto('identity_link')
    .values({ hash: fingerprint(secret), user_id: user.id, issuer, sub, expires_at: ctx.now + LINK_MS })
    .execute()
  const { host } = new URL(issuer)
  await queueMail(ctx, {
    recipient: user.email!,
    asked: 'byOthers',
    subject: `Sign in by ${host}`,
    text: `${greeting(user)}\n\na user of ${host} signed in with your address. If it was you, open this link to sign in with ${host} from now on. It works once, for 24 hours:\n\n${ctx.deps.origin()}/sign-in/sso/link?link=${secret}\n\nIf you did not expect this, ignore it: without the link nothing changes.\n`,
  })
}

export type IdentityLink = { userId: string; username: string; issuer: string; sub: string }

/** Finds the identity of a link. Refuses: identity_link_spent 404 (unknown, used, replaced, expired, or its user is suspended). */
export async function findIdentityLink(
  { db, now }: Pick<OperatorCtx, 'db' | 'now'>,
  secret: string,
): Promise<IdentityLink> {
  const row = await db
    .selectFrom('identity_link')
    .innerJoin('account', 'account.id', 'identity_link.user_id')
    .select(['identity_link.user_id', 'identity_link.issuer', 'identity_link.sub', 'account.slug'])
    .where('identity_link.hash', '=', fingerprint(secret))
    .where('identity_link.expires_at', '>', now)
    .executeTakeFirst()
  if (row === undefined) refuse('identity_link_spent')
  const giver = { userId: row.user_id, accountId: row.user_id, tokenId: null }
  if (!(await canStillGive({ db, now }, 'identity link', giver))) refuse('identity_link_spent')
  return { userId: row.user_id, username: row.slug, issuer: row.issuer, sub: row.sub }
}

/** Consumes the link and binds the identity. Of concurrent calls, one succeeds. Refuses: identity_link_spent 404, identity_taken 409. */
export async function redeemIdentityLink(ctx: OperatorCtx, secret: string): Promise<IdentityLink> {
  const link = await findIdentityLink(ctx, secret)
  const used = await ctx.db
    .deleteFrom('identity_link')
    .where('hash', '=', fingerprint(secret))
    .returning('sub')
    .executeTakeFirst()
  if (used === undefined) refuse('identity_link_spent')
  await linkIdentity(ctx, link.userId, link)
  await tellOfIdentity(ctx, link)
  return link
}

/** Notifies the user, because an attacker with a stolen session may have added the identity. */
async function tellOfIdentity(ctx: OperatorCtx, { userId, username, issuer }: IdentityLink): Promise<void> {
  const { email } = await ctx.db
    .selectFrom('account')
    .select('email')
    .where('id', '=', userId)
    .executeTakeFirstOrThrow()
  if (email === null) return
  const { host } = new URL(issuer)
  await queueMail(ctx, {
    recipient: email,
    subject: `You sign in by ${host} from now on`,
    text: `Hello ${username},\n\nyour account is linked to ${host}: you can now sign in with it. Your security page shows it: ${ctx.deps.origin()}/console/account/security\n\nIf you did not do this, contact the operator of this service, who can remove it.\n`,
  })
}

/** Returns the provider of a user and its last confirmation; undefined without one. */
export async function identityOf(
  ctx: Pick<OperatorCtx, 'db'>,
  userId: string,
): Promise<{ host: string; checkedAt: number } | undefined> {
  const row = await identityRow(ctx, userId)
  return row && { host: new URL(row.issuer).host, checkedAt: row.checked_at }
}
