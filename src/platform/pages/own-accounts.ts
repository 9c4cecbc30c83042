/** The accounts that a person has a part in, and acting for one of them from a page. */

import type { Ctx } from '../../context.ts'
import { missingFactorColumn, mustHaveSecondFactor } from '../access/second-factor.ts'
import type { Row } from '../db/schema.ts'
import type { Role } from '../permissions/roles.ts'
import { permissionsOf } from '../permissions/scopes.ts'
import { refuse } from '../refusals/refusal.ts'
import { bidiIsolated } from './html.ts'
import type { UserPageCtx } from './screen.ts'

/** An account with the person's role in it; of the personal one a person is OWNER. */
export type OwnAccount = Row<'account'> & { role: Role; lacks_factor: number }

/** More teams than this are not listed; each is still found by its id. */
const MAX_TEAMS = 100

/** The personal account, and then the teams by name. Of a team with `lacks_factor` nothing but its name is shown. */
export async function accountsOf(ctx: UserPageCtx): Promise<OwnAccount[]> {
  const { userId } = ctx.user
  const personal = await ctx.db.selectFrom('account').selectAll().where('id', '=', userId).executeTakeFirstOrThrow()
  const teams = await teamsOf(ctx).orderBy('account.slug').limit(MAX_TEAMS).execute()
  return [{ ...personal, role: 'OWNER', lacks_factor: 0 }, ...teams]
}

/** One of them. Refuses: not_found 404, also for an account that the person has no part in; second_factor_required 403. */
export async function findOwnAccount(ctx: UserPageCtx, accountId: string): Promise<OwnAccount> {
  if (accountId === ctx.user.userId) {
    const row = await ctx.db.selectFrom('account').selectAll().where('id', '=', accountId).executeTakeFirstOrThrow()
    return { ...row, role: 'OWNER', lacks_factor: 0 }
  }
  const mine = teamsOf(ctx).where('account.id', '=', accountId)
  // Within a write on PostgreSQL the person's place in the team stays until the commit.
  const team = await (ctx.db.isTransaction ? mine.forShare('member') : mine).executeTakeFirst()
  if (team === undefined) refuse('not_found', 'There is no such account, or you have no part in it.')
  mustHaveSecondFactor(team)
  return team
}

/** As `findOwnAccount`, by the slug that stands in the address of a page. Refuses as `findOwnAccount` does. */
export async function findOwnAccountBySlug(ctx: UserPageCtx, slug: string): Promise<OwnAccount> {
  const found = await ctx.db.selectFrom('account').select('id').where('slug', '=', slug).executeTakeFirst()
  if (found === undefined) refuse('not_found', 'There is no such account, or you have no part in it.')
  return findOwnAccount(ctx, found.id)
}

/** A page that shows values by itself would leave no audit line. One that asks a route for them leaves that route's. */
function reveal(): never {
  throw new Error('a page gives clear values and leaves no audit line')
}

/** The context in which a person acts for an account, with all that the role allows. */
export function accountContext(ctx: UserPageCtx, account: OwnAccount): Ctx {
  const { actor, db, now, stamp, deps, emit } = ctx
  const acting = {
    id: account.id,
    kind: account.kind,
    slug: account.slug,
    name: account.name,
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

/** How people call an account: by its name, and by its slug, of which there is one. */
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
