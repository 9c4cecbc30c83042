/** The accounts of a user, and their request context from a page. */

import type { Ctx } from '../../context.ts'
import { missingFactorColumn, mustHaveSecondFactor } from '../access/second-factor.ts'
import { shareUserWrites } from '../access/user-write-lock.ts'
import type { Row } from '../db/schema.ts'
import type { Role } from '../permissions/roles.ts'
import { permissionsOf } from '../permissions/scopes.ts'
import { refuse } from '../refusals/refusal.ts'
import { bidiIsolated } from './html.ts'
import type { UserPageCtx } from './screen.ts'

/** An account with the role of the user; OWNER of the personal one. */
export type OwnAccount = Row<'account'> & { role: Role; lacks_factor: number }

/** Most listed teams; others can still be opened by id. */
const MAX_TEAMS = 100

/** Returns the personal account, then the teams by name. A team with `lacks_factor` shows only its name. */
export async function accountsOf(ctx: UserPageCtx): Promise<OwnAccount[]> {
  const { userId } = ctx.user
  const personal = await ctx.db.selectFrom('account').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
  const teams = await teamsOf(ctx).orderBy('account.slug').limit(MAX_TEAMS).execute()
  return [{ ...personal, role: 'OWNER', lacks_factor: 0 }, ...teams]
}

/** Returns an account of the user. Refuses: not_found 404, also for an account of others; second_factor_required 403. */
export async function findOwnAccount(ctx: UserPageCtx, accountId: string): Promise<OwnAccount> {
  if (accountId === ctx.user.userId) {
    const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', accountId).executeTakeFirstOrThrow()
    return { ...row, role: 'OWNER', lacks_factor: 0 }
  }
  await shareUserWrites(ctx.db, ctx.user.userId)
  const mine = teamsOf(ctx).where('account.id', '=', accountId)
  // A write on PostgreSQL locks the membership until the commit.
  const team = await (ctx.db.isTransaction ? mine.forShare('member') : mine).executeTakeFirst()
  if (team === undefined) refuse('not_found', 'The account does not exist, or you are not a member of it.')
  mustHaveSecondFactor(team)
  return team
}

/** As `findOwnAccount`, by the slug in the URL of a page. Refuses as `findOwnAccount` does. */
export async function findOwnAccountBySlug(ctx: UserPageCtx, slug: string): Promise<OwnAccount> {
  const found = await ctx.db.selectFrom('account').select('id').where('slug', '=', slug).executeTakeFirst()
  if (found === undefined) refuse('not_found', 'The account does not exist, or you are not a member of it.')
  return findOwnAccount(ctx, found.id)
}

/** Pages must not read secrets directly, without an audit entry. They call a route, which writes one. */
function reveal(): never {
  throw new Error('a page reads decrypted values without an audit entry')
}

/** Creates the context of a user in an account, with all permissions of the role. */
export function accountContext(ctx: UserPageCtx, account: OwnAccount): Ctx {
  const { actor, db, now, stamp, deps, emit } = ctx
  const acting = {
    id: account.id,
    kind: account.kind,
    slug: account.slug,
    name: account.name,
    email: account.email,
    plan: account.plan,
    softBlocked: account.soft_blocked_at !== null,
    paymentMissing: account.payment_missing_at !== null,
    addOns: JSON.parse(account.add_ons_json) as string[],
    sensitiveEnv: account.sensitive_env_policy === 'on',
  }
  const caller = {
    actor,
    account: acting,
    shareId: account.id,
    userId: ctx.user.userId,
    role: account.role,
    permissions: permissionsOf(account.role, null),
    installationId: null,
    tokenTeamId: null,
    tokenExpiresAt: null,
    projectIds: null,
  }
  return {
    actor,
    db,
    now,
    stamp,
    deps,
    caller,
    account: acting,
    emit: emit as Ctx['emit'],
    async countRows() {},
    spend: async () => undefined,
    recordSecretRead: reveal,
  }
}

/** Returns the display name of an account: its name and unique slug. */
export function nameOf({ kind, name, slug }: Pick<OwnAccount, 'kind' | 'name' | 'slug'>): string {
  const called = name === null || name === slug ? slug : `${bidiIsolated(name)} (${slug})`
  return kind === 'user' ? `${called}, your personal account` : called
}

function teamsOf(ctx: UserPageCtx) {
  return ctx.db
    .selectFrom('member')
    .innerJoin('account', 'account.id', 'member.team_id')
    .selectAll('account')
    .select('member.role')
    .select(missingFactorColumn('member.user_id'))
    .where('member.user_id', '=', ctx.user.userId)
}
